
"use strict";
// Decompresses base64 of a format such as gzip; the response gives it as a text, bytes or a blob.
const unpacked = (text, format) => {
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream(format)));
};
const canUnpack = "DecompressionStream" in window;
// A button for each embedded text saves it, byte for byte.
const buttons = document.querySelectorAll("button.save");
document.querySelectorAll("script[data-sha256]").forEach((element, n) => {
  buttons[n].hidden = !canUnpack;
  buttons[n].addEventListener("click", async () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await unpacked(element.textContent, "gzip").blob());
    link.download = buttons[n].dataset.file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });
});
// A cursor on the charts: it follows the pointer or the arrow keys and reads the table beside them.
for (const svg of document.querySelectorAll("svg[data-table]")) {
  const table = document.getElementById(svg.dataset.table);
  if (!table) continue;
  const rows = [...table.tBodies[0].rows];
  const moments = rows.map((row) => Number(row.dataset.at));
  const names = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
  const [left, right, end] = [svg.dataset.left, svg.dataset.right, svg.dataset.end].map(Number);
  const plot = svg.parentElement;
  const readout = plot.nextElementSibling;
  const cursor = svg.querySelector(".cursor");
  let at = -1;
  const show = (place) => {
    at = Math.max(0, Math.min(rows.length - 1, place));
    const x = left + (moments[at] / end) * (right - left);
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
    const cells = [...rows[at].cells].map((cell, n) => names[n] + " " + cell.textContent);
    readout.textContent = cells.join(" · ");
  };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const unit = svg.viewBox.baseVal.width / box.width;
    const moment = (((event.clientX - box.left) * unit - left) / (right - left)) * end;
    let nearest = 0;
    moments.forEach((one, n) => {
      if (Math.abs(one - moment) < Math.abs(moments[nearest] - moment)) nearest = n;
    });
    show(nearest);
  });
  plot.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: rows.length - 1 };
    if (!(event.key in steps)) return;
    event.preventDefault();
    show(steps[event.key]);
  });
}

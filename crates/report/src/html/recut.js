// Another warm-up: adds up the seconds and histograms of the embedded document from another start. Nothing is judged.
for (const box of document.querySelectorAll(".recut")) {
  const input = box.querySelector("input");
  const [chosen, output] = box.querySelectorAll("output");
  // The histograms of consecutive intervals, each as pairs of bucket and count.
  const decode = (bytes, intervals) => {
    let at = 0;
    const next = () => {
      let [value, unit] = [0, 1];
      for (;;) {
        const byte = bytes[at++];
        value += (byte & 127) * unit;
        if (!(byte & 128)) return value;
        unit *= 128;
      }
    };
    return intervals.map(() => {
      const pairs = [];
      let bucket = 0;
      for (let left = next(); left > 0; left--) {
        const value = next();
        if (value % 2) bucket += (value + 1) / 2;
        else pairs.push([bucket++, value / 2]);
      }
      return pairs;
    });
  };
  const load = async () => {
    const embedded = document.querySelectorAll("script.run")[box.dataset.run];
    const run = await unpacked(embedded.textContent, "gzip").json();
    let row = 0;
    const intervals = run.histograms.rows.map((count) => {
      const rows = run.series.slice(row, row + count);
      row += count;
      const sum = (name) => rows.reduce((total, one) => total + one[name], 0);
      return { at: rows[0].at_s, length: sum("length_s"), committed: sum("committed"), failed: sum("failed"),
        max: Math.max(...rows.map((one) => one.max_ns)) };
    });
    const response = run.histograms.times.filter((one) => one.time === "response");
    const all = response.filter((one) => one.kind === null);
    for (const one of all.length ? all : response) {
      const histograms = decode(new Uint8Array(await unpacked(one.counts, "deflate").arrayBuffer()), intervals);
      intervals.forEach((interval, n) => (interval.histograms ??= []).push(histograms[n]));
    }
    return intervals;
  };
  const whole = (value) => Math.round(value).toLocaleString("en-US");
  const number = (value) => (value < 99.95 ? value.toFixed(value < 9.995 ? 2 : 1) : whole(value));
  const time = (ns) => {
    const [unit, size] = ns < 999.5 ? ["ns", 1] : ns < 999500 ? ["µs", 1e3] : ns < 999500000 ? ["ms", 1e6] : ["s", 1e9];
    return number(ns / size) + " " + unit;
  };
  const percentile = (counts, samples, share) => {
    if (samples < 10 / (1 - share) - 1e-6) return "–";
    let left = Math.ceil(share * samples - 1e-6);
    const bucket = counts.findIndex((count) => (left -= count) <= 0);
    if (bucket < 256) return time(bucket);
    const step = 2 ** (Math.floor(bucket / 128) - 1);
    return time(((bucket % 128) + 129) * step - 1);
  };
  const show = (intervals) => {
    const warmup = Number(input.value);
    const kept = intervals.filter((interval) => interval.at >= warmup - 1e-6);
    chosen.textContent = whole(warmup) + " s";
    const sum = (name) => kept.reduce((total, one) => total + one[name], 0);
    const counts = new Array(5000).fill(0);
    for (const one of kept)
      for (const histogram of one.histograms) for (const [bucket, count] of histogram) counts[bucket] += count;
    const samples = counts.reduce((total, count) => total + count, 0);
    const shares = [["p50", 0.5], ["p95", 0.95], ["p99", 0.99], ["p99.9", 0.999]];
    const percentiles = shares.map(([name, share]) => name + " " + percentile(counts, samples, share));
    const max = time(kept.reduce((longest, one) => Math.max(longest, one.max), 0));
    output.textContent = `Re-cut, not judged: ${number(sum("committed") / sum("length"))} transactions/s committed in the ` +
      `${whole(sum("length"))} s from ${whole(kept[0].at)} s, ${whole(sum("failed"))} failed; ` +
      `response ${percentiles.join(", ")}, max ${max}`;
  };
  let intervals;
  input.addEventListener("input", async () => show(await (intervals ??= load())));
  box.hidden = !canUnpack;
}

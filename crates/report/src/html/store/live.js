"use strict";
const live = document.getElementById("live");
const events = new EventSource(live.dataset.events);
// The markup comes from this program, which has escaped the texts in it.
events.addEventListener("seconds", (event) => { live.innerHTML = event.data; });
events.addEventListener("end", () => { events.close(); location.replace(live.dataset.run); });

// All panels and the status line of this page as one PNG, saved by the browser.
const box = document.documentElement.getBoundingClientRect();
const scale = window.devicePixelRatio || 1;
const canvas = document.createElement("canvas");
canvas.width = box.width * scale;
canvas.height = box.height * scale;
const draw = canvas.getContext("2d");
draw.scale(scale, scale);
const look = getComputedStyle(document.body);
draw.fillStyle = look.backgroundColor;
draw.fillRect(0, 0, box.width, box.height);
draw.fillStyle = look.color;
draw.font = "15px system-ui, sans-serif";
const words = [];
for (const view of Bokeh.index.roots ?? Object.values(Bokeh.index)) {
  const place = view.el.getBoundingClientRect();
  if (view.model.type === "Div") {
    const holder = document.createElement("div");
    holder.innerHTML = view.model.text;
    words.push(holder.querySelector("summary")?.textContent ?? holder.textContent);
  } else if (view.model.type === "Figure") {
    draw.drawImage(view.export("png", true).canvas, place.left - box.left, place.top - box.top, place.width, place.height);
  }
}
draw.fillText(["nica live", ...words].join("   "), 18, 32);
canvas.toBlob((blob) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = "nica-live.png";
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
});

(() => {
  const channels = (color) => color.match(/[\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const over = ([r, g, b, a = 1], [x, y, z]) => [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a)];
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  // Whatever way a colour is written, a canvas knows it in RGB. It takes its time for that, and the colours are few.
  const known = new Map();
  const rgb = (color) => {
    if (known.has(color)) return known.get(color);
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    known.set(color, [r, g, b, a / 255]);
    return known.get(color);
  };
  // What lies behind an element lies behind all that is in it.
  const grounds = new Map([[null, rgb(getComputedStyle(document.documentElement).colorScheme === "dark" ? "#121212" : "#ffffff")]]);
  const behind = (element) => {
    if (!grounds.has(element)) grounds.set(element, over(rgb(getComputedStyle(element).backgroundColor), behind(element.parentElement)));
    return grounds.get(element);
  };
  // The colours of texts that stand out too little from what lies behind them.
  const poor = [];
  let looked = 0;
  for (const element of document.querySelectorAll("body *:not(svg, svg *, option, datalist, datalist *)")) {
    const says = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!says || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const style = getComputedStyle(element);
    if (element.closest(".visually-hidden") || element.closest("[disabled]")) continue;
    looked += 1;
    const back = behind(element);
    const [one, other] = [luminance(over(rgb(style.color), back)), luminance(back)].sort((a, b) => b - a);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    const ratio = (one + 0.05) / (other + 0.05);
    if (ratio < (large ? 3 : 4.5)) poor.push(`${ratio.toFixed(2)} ${element.tagName}.${element.className}: ${element.innerText.slice(0, 40)}`);
  }
  return looked > 5 ? [...new Set(poor)].slice(0, 8) : [`only ${looked} texts were looked at`];
})()

// Pyodide behind lines of JSON: a source per line comes in; what it printed and its error go out.
import { createInterface } from "node:readline";

const { loadPyodide } = await import(process.argv[2]);
const python = await loadPyodide();
let printed = [];
python.setStdout({ batched: (line) => printed.push(line + "\n") });
const names = python.globals.get("dict")();
names.set("__name__", "__main__");
console.log("{}");
for await (const line of createInterface({ input: process.stdin })) {
  let error = "";
  printed = [];
  try {
    python.runPython(JSON.parse(line), { globals: names });
  } catch (raised) {
    error = String(raised);
  }
  console.log(JSON.stringify({ printed: printed.join(""), error }));
}

// The routes of the service, from its OpenAPI description.
import { h } from "/static/viewer/viewer.js";

const api = await (await fetch("/openapi.json")).json();
const named = (schema) => (schema?.$ref ? api.components.schemas[schema.$ref.split("/").pop()] : schema);
const typeOf = (schema) => (schema.anyOf ? schema.anyOf.map(typeOf).join(" or ") : schema.enum ? schema.enum.map((each) => JSON.stringify(each)).join(" | ") : schema.type === "array" ? `list of ${typeOf(schema.items ?? {})}` : schema.type ?? "any");

const marked = (text) => text.split("`").map((each, k) => (k % 2 ? h("code", {}, each) : each));

function fields(schema) {
  const properties = Object.entries(schema?.properties ?? {});
  if (!properties.length) return null;
  return h("div", { class: "scroll" }, h("table", { class: "scores" }, h("tr", {}, ["field", "type", "meaning"].map((title) => h("th", {}, title))),
    properties.map(([name, each]) => h("tr", {}, h("td", {}, h("code", {}, name), schema.required?.includes(name) ? " (required)" : ""), h("td", {}, typeOf(each)), h("td", {}, marked(each.description ?? ""))))));
}

const routes = Object.entries(api.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, about]) => ({ path, method, about })));
document.getElementById("routes").append(...routes.map(({ path, method, about }) => h("section", { class: "sentence" },
  h("h2", {}, h("code", {}, `${method.toUpperCase()} ${path}`)), h("p", {}, marked(about.description ?? about.summary ?? "")),
  fields(named(about.requestBody?.content?.["application/json"]?.schema)),
  h("p", { class: "note" }, "Answers: ", Object.entries(about.responses).map(([status, each]) => `${status} ${each.description}`).join("; ")))));

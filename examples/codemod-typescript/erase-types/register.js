// Has node load .ts files without their types. It knows the few forms of this example; a project of yours has tsc, tsx or a newer node.
import { register } from "node:module";

register("./hooks.js", import.meta.url);

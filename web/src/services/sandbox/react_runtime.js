// React, for the components of answers. The build bundles this file into a script for the sandbox.
import * as React from "react";
import * as ReactDom from "react-dom";
import * as client from "react-dom/client";

globalThis.previewModules = { react: React, "react-dom": { ...ReactDom, ...client }, "react-dom/client": client };

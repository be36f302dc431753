import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import type { KubernetesObject } from './manifests.js';

const require = createRequire(import.meta.url);
/** A source that exists in memory only; here, so that its imports are found. */
const SOURCE = fileURLToPath(new URL('./rendered-objects.ts', import.meta.url));
const OPTIONS: ts.CompilerOptions = {
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  types: [],
};
const PACKAGES: Readonly<Record<string, string>> = {
  'keda.sh': '@kubernetes-models/keda',
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
};
/** Kinds of objects that no package describes. */
const WITHOUT_MODEL = ['gateway.networking.k8s.io'];

interface Model {
  validate(): void;
}

/** Whether a package publishes the type of the object. */
export function hasModel({ apiVersion }: KubernetesObject): boolean {
  return !WITHOUT_MODEL.includes(groupOf(apiVersion));
}

/** Errors for which the API server would reject an object: wrong or missing values. */
export function valueProblems(object: KubernetesObject): string | undefined {
  const models = require(moduleOf(object)) as Readonly<Record<string, new (data: KubernetesObject) => Model>>;
  const model = models[object.kind];
  if (model === undefined) return `there is no ${object.kind}`;
  try {
    new model(object).validate();
    return undefined;
  } catch (error) {
    return `${object.kind} ${object.metadata.name}: ${String(error)}`;
  }
}

/** Compiler errors of the objects as literals of their types: above all unknown fields. */
export function fieldProblems(objects: readonly KubernetesObject[]): string[] {
  const lines = objects.map(
    (object, index) =>
      `import type { I${object.kind} as Type${index} } from '${moduleOf(object)}';\n` +
      `export const object${index}: Type${index} = ${JSON.stringify(object)};\n`,
  );
  const program = ts.createProgram([SOURCE], OPTIONS, hostOf(lines.join('')));
  return ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
}

function hostOf(source: string): ts.CompilerHost {
  const host = ts.createCompilerHost(OPTIONS);
  return {
    ...host,
    fileExists: (name) => name === SOURCE || host.fileExists(name),
    readFile: (name) => (name === SOURCE ? source : host.readFile(name)),
    getSourceFile: (name, version, ...rest) =>
      name === SOURCE ? ts.createSourceFile(name, source, version) : host.getSourceFile(name, version, ...rest),
  };
}

function moduleOf({ apiVersion, kind }: KubernetesObject): string {
  return `${PACKAGES[groupOf(apiVersion)] ?? 'kubernetes-models'}/${apiVersion}/${kind}`;
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '';
}

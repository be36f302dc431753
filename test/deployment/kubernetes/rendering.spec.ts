import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { kubectlProgram } from '#testing';
import { FOLDER, type KubernetesObject, Manifests } from './manifests.js';

/** The objects that `kubectl apply -k` would send. */
function renderedByKubectl(folder: string): KubernetesObject[] {
  const text = execFileSync(kubectlProgram(), ['kustomize', `${FOLDER}${folder}`], { encoding: 'utf8' });
  return parseAllDocuments(text).map((document) => document.toJS() as KubernetesObject);
}

const keyOf = ({ apiVersion, kind, metadata }: KubernetesObject) => `${apiVersion} ${kind} ${metadata.name}`;
const sorted = (objects: readonly KubernetesObject[]) => [...objects].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));

/** The other tests read what the tests render themselves, so that they run without kubectl. */
describe('what the tests take for the manifests', () => {
  it.each(['overlays/small', 'overlays/large', 'examples'])('is what kubectl renders: %s', (folder) => {
    expect(sorted(Manifests.render(folder).objects)).toEqual(sorted(renderedByKubectl(folder)));
  });
});

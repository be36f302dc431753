import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { IScaledObject } from '@kubernetes-models/keda/keda.sh/v1alpha1';
import type { IPodMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1';
import type { IDeployment } from 'kubernetes-models/apps/v1';
import type { IHorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
import type { IJob } from 'kubernetes-models/batch/v1';
import type { IIngress, INetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import type { IPodDisruptionBudget } from 'kubernetes-models/policy/v1';
import type { IConfigMap, IContainer, IPodTemplateSpec, IService, IServiceAccount } from 'kubernetes-models/v1';
import { renderKustomization } from './kustomize.js';

export const FOLDER = fileURLToPath(new URL('../../../deploy/kubernetes/', import.meta.url));

/** The members of every Kubernetes object. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
}

/** A route of the Gateway API, as far as we use it. */
interface HttpRoute {
  readonly spec: {
    readonly hostnames: readonly string[];
    readonly rules: readonly {
      readonly matches: readonly { readonly path: { readonly value: string } }[];
      readonly timeouts?: { readonly request: string; readonly backendRequest: string };
      readonly backendRefs: readonly { readonly name: string; readonly port: number }[];
    }[];
  };
}

/** The kinds of objects that the tests ask for. */
interface Kinds {
  readonly ConfigMap: IConfigMap;
  readonly Deployment: IDeployment;
  readonly HorizontalPodAutoscaler: IHorizontalPodAutoscaler;
  readonly HTTPRoute: HttpRoute;
  readonly Ingress: IIngress;
  readonly Job: IJob;
  readonly NetworkPolicy: INetworkPolicy;
  readonly PodDisruptionBudget: IPodDisruptionBudget;
  readonly PodMonitor: IPodMonitor;
  readonly ScaledObject: IScaledObject;
  readonly Service: IService;
  readonly ServiceAccount: IServiceAccount;
}

/** Something that runs pods. */
export interface Workload {
  readonly name: string;
  readonly replicas: number | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly pod: NonNullable<IPodTemplateSpec['spec']>;
  readonly container: IContainer;
}

/** The objects that a folder of deploy/kubernetes stands for, as `kubectl apply -k` would send them. */
export class Manifests {
  private constructor(readonly objects: readonly KubernetesObject[]) {}

  static render(folder: string): Manifests {
    return new Manifests(renderKustomization(`${FOLDER}${folder}`));
  }

  all<K extends keyof Kinds>(kind: K): readonly (Kinds[K] & KubernetesObject)[] {
    return this.objects.filter((object) => object.kind === kind) as (Kinds[K] & KubernetesObject)[];
  }

  names(kind: keyof Kinds): readonly string[] {
    return this.all(kind).map(({ metadata }) => metadata.name);
  }

  get workloads(): readonly Workload[] {
    const deployments = this.all('Deployment').map(({ metadata, spec }) =>
      workloadOf(metadata.name, spec?.template, spec?.replicas),
    );
    return [...deployments, ...this.all('Job').map(({ metadata, spec }) => workloadOf(metadata.name, spec?.template))];
  }

  workload(name: string): Workload {
    const found = this.workloads.find((workload) => workload.name === name);
    if (found === undefined) throw new Error(`nothing is called ${name}`);
    return found;
  }

  /** The environment of a container: the values in the manifests, and the keys of the Secret. */
  environment({ container }: Workload): {
    readonly values: Readonly<Record<string, string>>;
    readonly secrets: Secrets;
  } {
    const values: Record<string, string> = {};
    const secrets: Record<string, { readonly isOptional: boolean }> = {};
    for (const { configMapRef } of container.envFrom ?? []) Object.assign(values, this.#configMap(configMapRef?.name));
    for (const { name, value, valueFrom } of container.env ?? []) {
      if (value !== undefined) values[name] = value;
      if (valueFrom?.secretKeyRef) secrets[name] = this.#secret(name, valueFrom.secretKeyRef);
    }
    return { values, secrets };
  }

  /** There is one Secret, and its keys have the names of their variables. */
  #secret(variable: string, { name, key, optional }: SecretKeyRef): { readonly isOptional: boolean } {
    if (name !== 'gatepost' || key !== variable) throw new Error(`${variable} comes from ${key} of ${String(name)}`);
    return { isOptional: optional === true };
  }

  #configMap(name: string | undefined): Readonly<Record<string, string>> {
    const found = this.all('ConfigMap').find(({ metadata }) => metadata.name === name);
    if (found?.data === undefined) throw new Error(`there is no ConfigMap ${String(name)}`);
    return found.data;
  }
}

interface SecretKeyRef {
  readonly name?: string;
  readonly key: string;
  readonly optional?: boolean;
}

type Secrets = Readonly<Record<string, { readonly isOptional: boolean }>>;

function workloadOf(name: string, template: IPodTemplateSpec | undefined, replicas?: number): Workload {
  const [container, ...others] = template?.spec?.containers ?? [];
  if (template?.spec === undefined || container === undefined || others.length > 0)
    throw new Error(`the pods of ${name} have not one container`);
  return { name, replicas, labels: template.metadata?.labels ?? {}, pod: template.spec, container };
}

/** A file of deploy/kubernetes. */
export function fileOf(path: string): string {
  return readFileSync(`${FOLDER}${path}`, 'utf8');
}

/** Whether a label selector takes an object with those labels. */
export function selects(selector: LabelSelector | undefined, labels: Readonly<Record<string, string>>): boolean {
  const isEqual = Object.entries(selector?.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
  return isEqual && (selector?.matchExpressions ?? []).every((expression) => fits(expression, labels));
}

interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly Expression[];
}

interface Expression {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

function fits({ key, operator, values = [] }: Expression, labels: Readonly<Record<string, string>>): boolean {
  if (operator === 'In') return values.includes(labels[key] ?? '');
  if (operator === 'NotIn') return !values.includes(labels[key] ?? '');
  throw new Error(`the tests do not support the operator ${operator}`);
}

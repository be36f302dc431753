import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { fileOf, Manifests, selects, type Workload } from './manifests.js';

/** A path of the entrance, and the service that it leads to. */
interface Route {
  readonly path: string;
  readonly service: string;
  readonly port: string | number;
}

function routesOf(manifests: Manifests): readonly Route[] {
  const ingress = manifests
    .all('Ingress')
    .flatMap(({ spec }) => spec?.rules ?? [])
    .flatMap(({ http }) => http?.paths ?? [])
    .map(({ path, backend }) => ({
      path: path ?? '',
      service: backend.service?.name ?? '',
      port: backend.service?.port?.name ?? backend.service?.port?.number ?? '',
    }));
  const gateway = manifests
    .all('HTTPRoute')
    .flatMap(({ spec }) => spec.rules)
    .flatMap(({ matches, backendRefs }) =>
      matches.flatMap(({ path }) => backendRefs.map(({ name, port }) => ({ path: path.value, service: name, port }))),
    );
  return [...ingress, ...gateway];
}

function hostsOf(manifests: Manifests): readonly string[] {
  const ingress = manifests
    .all('Ingress')
    .flatMap(({ spec }) => [
      ...(spec?.rules ?? []).map(({ host }) => host ?? ''),
      ...(spec?.tls ?? []).flatMap(({ hosts }) => hosts ?? []),
    ]);
  return [...ingress, ...manifests.all('HTTPRoute').flatMap(({ spec }) => spec.hostnames)];
}

const overlays = ['overlays/small', 'overlays/large'] as const;

describe.each(overlays)('in %s', (overlay) => {
  const manifests = Manifests.render(overlay);
  const { workloads } = manifests;
  const chosenBy = (selector: Parameters<typeof selects>[0]): readonly Workload[] =>
    workloads.filter(({ labels }) => selects(selector, labels));
  const portsOf = ({ container }: Workload) => (container.ports ?? []).map(({ name }) => name);

  it('deployments select their own pods and no others', () => {
    for (const { metadata, spec } of manifests.all('Deployment'))
      expect(chosenBy(spec?.selector).map(({ name }) => name)).toEqual([metadata.name]);
  });

  it('the ordered upgrade of docs/kubernetes.md replaces every deployment', () => {
    const [, names = ''] = /^for name in (.+); do$/m.exec(readFileSync('docs/kubernetes.md', 'utf8')) ?? [];
    expect(names.split(' ').toSorted()).toEqual(manifests.names('Deployment').toSorted());
  });

  it('services lead to a port that the pods of one deployment have', () => {
    for (const { metadata, spec } of manifests.all('Service')) {
      const chosen = chosenBy({ matchLabels: spec?.selector ?? {} });
      expect(chosen.map(({ name }) => name)).toEqual([metadata.name]);
      for (const { targetPort } of spec?.ports ?? []) expect(portsOf(chosen[0]!)).toContain(targetPort);
    }
  });

  it('the entrance leads to services and ports that there are, and to nothing but what is public', () => {
    const routes = routesOf(manifests);
    const services = manifests.all('Service');
    for (const { service, port } of routes) {
      const ports = services.find(({ metadata }) => metadata.name === service)?.spec?.ports ?? [];
      expect(ports.flatMap((one) => [one.name, one.port])).toContain(port);
    }
    const paths = Object.fromEntries(routes.map(({ path, service }) => [path, service]));
    expect(paths).toEqual({
      '/1.1': 'gateway',
      '/v1/route': 'gateway',
      '/pages': 'gateway',
      '/push': 'push-connector',
    });
  });

  it('clients get the name of the entrance', () => {
    const { values } = manifests.environment(manifests.workload('gateway'));
    const { host, protocol } = new URL(values['GATEPOST_BASE_URL'] ?? '');
    const push = new URL(values['GATEPOST_PUSH_URL'] ?? '');
    expect([protocol, push.protocol, push.host, push.pathname]).toEqual(['https:', 'wss:', host, '/push']);
    expect(new Set(hostsOf(manifests))).toEqual(new Set([host]));
  });

  it('connections of devices may be silent for longer than 180 seconds', () => {
    const seconds = manifests.all('Ingress').flatMap(({ metadata }) => {
      const annotations = (metadata as { annotations?: Record<string, string> }).annotations ?? {};
      return Object.entries(annotations).filter(([key]) => /read-timeout|send-timeout/.test(key));
    });
    for (const [, value] of seconds) expect(parseInt(value, 10)).toBeGreaterThan(180);
    const rules = manifests.all('HTTPRoute').flatMap(({ spec }) => spec.rules);
    const toDevices = rules.filter(({ backendRefs }) => backendRefs.some(({ name }) => name === 'push-connector'));
    for (const { timeouts } of toDevices) expect(timeouts?.request).toBe('0s');
    expect(seconds.length + toDevices.length).toBeGreaterThan(0);
  });

  it('no route of the Gateway API limits the time of a request, as implementations do by default', () => {
    const rules = manifests.all('HTTPRoute').flatMap(({ spec }) => spec.rules);
    for (const { timeouts } of rules) expect(timeouts).toEqual({ request: '0s', backendRequest: '0s' });
  });

  it('every service that stays has a disruption budget, and every budget and policy pods that it is for', () => {
    const budgets = manifests.all('PodDisruptionBudget');
    const guarded = budgets.flatMap(({ spec }) => chosenBy(spec?.selector).map(({ name }) => name));
    const lasting = workloads.filter(({ container }) => container.readinessProbe !== undefined);
    expect([...guarded].sort()).toEqual(lasting.map(({ name }) => name).sort());
    for (const { spec } of manifests.all('NetworkPolicy')) {
      const chosen = chosenBy(spec?.podSelector);
      expect(chosen.length).toBeGreaterThan(0);
      const named = [...(spec?.ingress ?? []), ...(spec?.egress ?? [])].flatMap(({ ports }) => ports ?? []);
      for (const { port } of named) if (typeof port === 'string') expect(chosen.flatMap(portsOf)).toContain(port);
    }
  });

  it('Prometheus finds every service, and nothing that has no metrics', () => {
    for (const { spec } of manifests.all('PodMonitor')) {
      const chosen = chosenBy(spec.selector).map(({ name }) => name);
      const serving = workloads.filter((workload) => portsOf(workload).includes('http')).map(({ name }) => name);
      expect([...chosen].sort()).toEqual(serving.sort());
    }
  });

  it('policies let each service reach the engines whose addresses it has, and no other', () => {
    const policies = manifests.all('NetworkPolicy');
    const mayReach = ({ labels }: Workload, port: number) =>
      policies
        .filter(({ spec }) => selects(spec?.podSelector, labels))
        .flatMap(({ spec }) => spec?.egress ?? [])
        .some(({ ports }) => ports?.some((one) => one.port === port));
    for (const workload of workloads) {
      const { secrets } = manifests.environment(workload);
      for (const [variable, port] of [
        ['DATABASE_URL', 5432],
        ['REDIS_URL', 6379],
        ['AMQP_URL', 5672],
      ] as const)
        expect(`${workload.name} ${variable} ${mayReach(workload, port)}`).toBe(
          `${workload.name} ${variable} ${variable in secrets}`,
        );
    }
  });

  it('pods run under accounts that there are, on volumes that they have', () => {
    const accounts = manifests.names('ServiceAccount');
    for (const { pod, container } of workloads) {
      if (pod.serviceAccountName !== undefined) expect(accounts).toContain(pod.serviceAccountName);
      const volumes = (pod.volumes ?? []).map(({ name }) => name);
      expect((container.volumeMounts ?? []).map(({ name }) => name).sort()).toEqual([...volumes].sort());
    }
  });

  it('images are of one version, each of an app that there is', () => {
    const images = workloads.map(({ container }) => /^(.+)\/gatepost-([a-z-]+):(.+)$/.exec(container.image ?? ''));
    expect(new Set(images.map((image) => image?.[3])).size).toBe(1);
    for (const image of images) expect(existsSync(`apps/${image?.[2] ?? '?'}/src/main.ts`)).toBe(true);
  });

  it('secrets come from the keys that the example names, and only those it leaves out may be missing', () => {
    const wanted = workloads.flatMap((workload) => Object.entries(manifests.environment(workload).secrets));
    const required = new Set(wanted.filter(([, { isOptional }]) => !isOptional).map(([name]) => name));
    const optional = new Set(wanted.filter(([, { isOptional }]) => isOptional).map(([name]) => name));
    const example = fileOf('examples/secret.env.example');
    const keys = (pattern: RegExp) => new Set([...example.matchAll(pattern)].map(([, key]) => key ?? ''));
    expect(keys(/^([A-Z_]+)=/gm)).toEqual(required);
    expect(keys(/^# ([A-Z_]+)=/gm)).toEqual(optional);
    // redis-cli, which backs Redis up, would log in as the user "" of a URL without one, and be refused.
    expect(example).toMatch(/^REDIS_URL=redis:\/\/default:/m);
  });
});

describe('the example of PostgreSQL', () => {
  /** Of one process: 10 of its pool, and in some 5 for queries. */
  const CONNECTIONS = 15;

  it('has connections for every pod that the large overlay may start', () => {
    const manifests = Manifests.render('overlays/large');
    const replicas = new Map([
      ...manifests
        .all('HorizontalPodAutoscaler')
        .map(({ metadata, spec }) => [metadata.name, spec?.maxReplicas] as const),
      ...manifests.all('ScaledObject').map(({ metadata, spec }) => [metadata.name, spec.maxReplicaCount] as const),
    ]);
    const pods = manifests.workloads
      .filter((workload) => 'DATABASE_URL' in manifests.environment(workload).secrets)
      // One more of each while a new version comes.
      .map(({ name, replicas: fixed }) => (replicas.get(name) ?? fixed ?? 1) + 1);
    const { spec } = parse(fileOf('examples/postgresql.yaml')) as {
      spec: { postgresql: { parameters: { max_connections: string } } };
    };
    const wanted = pods.reduce((sum, count) => sum + count * CONNECTIONS, 0);
    expect(Number(spec.postgresql.parameters.max_connections)).toBeGreaterThanOrEqual(wanted);
  });
});

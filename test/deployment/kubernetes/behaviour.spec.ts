import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Metrics } from '#observability';
import { Manifests, type Workload } from './manifests.js';

/** The time a service may need after it drains: 15 seconds for its server, and as long for the work in progress. */
const FINISHING_SECONDS = 30;
/** The longest time a mail process needs to finish its deliveries in progress. */
const SENDING_SECONDS = 50;
/** The default of GATEPOST_PUSH_RECONNECT_SECONDS. */
const RECONNECT_SECONDS = 30;

const overlays = ['overlays/small', 'overlays/large'] as const;

describe.each(overlays)('in %s', (overlay) => {
  const manifests = Manifests.render(overlay);
  const services = manifests.workloads.filter(({ container }) => container.readinessProbe !== undefined);
  const seconds = (workload: Workload, variable: string, otherwise: number) =>
    Number(manifests.environment(workload).values[variable] ?? otherwise);

  it('every pod has the least rights that it can live with', () => {
    for (const { pod, container } of manifests.workloads) {
      expect(pod).toMatchObject({
        enableServiceLinks: false,
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      });
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
  });

  it('every container says what it needs and what it may take', () => {
    for (const { container } of manifests.workloads)
      for (const given of [container.resources?.requests, container.resources?.limits])
        expect(Object.keys(given ?? {}).sort()).toEqual(['cpu', 'memory']);
  });

  it('the command line can take an export, as a file and as standard input', () => {
    const workload = manifests.workload('cli');
    const { TMPDIR: folder } = manifests.environment(workload).values;
    const mount = workload.container.volumeMounts?.find(({ mountPath }) => mountPath === folder);
    const volume = workload.pod.volumes?.find(({ name }) => name === mount?.name);
    expect([folder, volume?.emptyDir]).toEqual(['/data', { sizeLimit: '20Gi' }]);
  });

  it('the console, which is behind no proxy, believes none', () => {
    const proxies = (name: string) => {
      const workload = services.find((each) => each.name === name);
      return workload && manifests.environment(workload).values['GATEPOST_TRUSTED_PROXIES'];
    };
    expect([proxies('console'), proxies('gateway')]).toEqual(['', 'uniquelocal']);
  });

  it('every service is asked whether it started, lives and can serve', () => {
    expect(services).toHaveLength(8);
    for (const { container } of services) {
      const paths = [container.startupProbe, container.livenessProbe, container.readinessProbe].map(
        (probe) => probe?.httpGet?.path,
      );
      expect(paths).toEqual(['/healthz', '/healthz', '/readyz']);
    }
  });

  it('no service is without a pod while a new version comes, and pods spread', () => {
    for (const { name } of services) {
      const deployment = manifests.all('Deployment').find(({ metadata }) => metadata.name === name);
      expect(deployment?.spec?.strategy?.rollingUpdate).toEqual({ maxUnavailable: 0, maxSurge: 1 });
      const spread = deployment?.spec?.template.spec?.topologySpreadConstraints ?? [];
      expect(spread.map(({ topologyKey }) => topologyKey)).toEqual([
        'kubernetes.io/hostname',
        'topology.kubernetes.io/zone',
      ]);
    }
  });

  it('what clients connect to is served until the entrance has forgotten it', () => {
    for (const name of ['gateway', 'push-connector']) {
      const workload = manifests.workload(name);
      const { periodSeconds = 0 } = workload.container.readinessProbe ?? {};
      expect(seconds(workload, 'GATEPOST_DRAIN_SECONDS', 0)).toBeGreaterThan(periodSeconds);
    }
  });

  it('nothing is killed before it has finished', () => {
    const needs = (workload: Workload) => {
      const drain = seconds(workload, 'GATEPOST_DRAIN_SECONDS', 0);
      if (workload.name === 'mail') return drain + FINISHING_SECONDS + SENDING_SECONDS;
      if (workload.name !== 'push-connector') return drain + FINISHING_SECONDS;
      return drain + FINISHING_SECONDS + seconds(workload, 'GATEPOST_PUSH_RECONNECT_SECONDS', RECONNECT_SECONDS);
    };
    for (const workload of services)
      expect(workload.pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(needs(workload));
  });

  it('a number of replicas stands where nothing else decides it', () => {
    const targets = [...manifests.all('HorizontalPodAutoscaler'), ...manifests.all('ScaledObject')].map(
      ({ spec }) => spec?.scaleTargetRef.name ?? '',
    );
    expect(new Set(targets).size).toBe(targets.length);
    expect(targets.sort()).toEqual(
      overlay === 'overlays/large' ? ['accounts', 'gateway', 'push-connector', 'push-dispatcher', 'push-sender'] : [],
    );
    for (const name of targets) expect(manifests.workload(name).replicas).toBeUndefined();
  });
});

describe('autoscaling', () => {
  const manifests = Manifests.render('overlays/large');
  const scaled = manifests.all('ScaledObject');
  const behaviourOf = (name: string) =>
    scaled.find(({ metadata }) => metadata.name === name)?.spec.advanced?.horizontalPodAutoscalerConfig?.behavior;

  it('asks for metrics that there are, and for no number where they are missing', () => {
    const { registry } = new Metrics();
    for (const { metadata } of scaled.flatMap(({ spec }) => spec.triggers)) {
      const [, metric] = /(gatepost_\w+)/.exec(metadata['query'] ?? '') ?? [];
      expect(registry.getSingleMetric(metric ?? ''), metric).toBeDefined();
      expect(metadata['query']).toContain('namespace="gatepost"');
      expect(metadata['ignoreNullValues']).toBe('false');
    }
  });

  it('takes connectors away one at a time, slower than their devices need to come back', () => {
    const { stabilizationWindowSeconds, policies } = behaviourOf('push-connector')?.scaleDown ?? {};
    expect(policies?.map(({ type, value }) => [type, value])).toEqual([['Pods', 1]]);
    const { terminationGracePeriodSeconds = 0 } = manifests.workload('push-connector').pod;
    expect(policies?.[0]?.periodSeconds).toBeGreaterThan(2 * terminationGracePeriodSeconds);
    expect(stabilizationWindowSeconds).toBeGreaterThanOrEqual(1_800);
  });

  it('adds connectors long before those that there are refuse devices', () => {
    const [trigger] = scaled.find(({ metadata }) => metadata.name === 'push-connector')?.spec.triggers ?? [];
    const { values } = manifests.environment(manifests.workload('push-connector'));
    expect(2 * Number(trigger?.metadata['threshold'])).toBeLessThanOrEqual(Number(values['GATEPOST_PUSH_CONNECTIONS']));
  });
});

describe('monitoring', () => {
  it('gives jobs the names that the alert rules go by', () => {
    const [monitor] = Manifests.render('overlays/large').all('PodMonitor');
    const relabelings = monitor?.spec.podMetricsEndpoints.flatMap((endpoint) => endpoint.relabelings ?? []) ?? [];
    expect(relabelings.find(({ targetLabel }) => targetLabel === 'job')?.replacement).toMatch(/^gatepost/);
    expect(readFileSync('deploy/observability/alerts.yml', 'utf8')).toContain('{job=~"gatepost.*"}');
  });
});

describe('the image', () => {
  it('runs as the user that the pods run as', () => {
    const users = [...readFileSync('deploy/Dockerfile', 'utf8').matchAll(/^USER (.+)$/gm)].map(([, user]) => user);
    // "node" is 1000 in the official images.
    expect(['node', '1000', '1000:1000']).toContain(users.at(-1));
    const { workloads } = Manifests.render('overlays/small');
    for (const { pod } of workloads) expect(pod.securityContext).toMatchObject({ runAsUser: 1000, fsGroup: 1000 });
  });
});

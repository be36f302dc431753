import { describe, expect, it } from 'vitest';
import { fileOf, Manifests } from './manifests.js';
import { fieldProblems, hasModel, valueProblems } from './object-types.js';

/** The compiler reads thousands of types first. */
const COMPILER_TIMEOUT_MS = 240_000;

const overlays = ['overlays/small', 'overlays/large'] as const;

describe.each(overlays)('the manifests of %s', (overlay) => {
  const manifests = Manifests.render(overlay);
  const known = manifests.objects.filter(hasModel);

  it('have values that the API takes', () => {
    expect(known.map(valueProblems).filter((problem) => problem !== undefined)).toEqual([]);
  });

  it('use no kind that nothing checks, but the route of the Gateway API', () => {
    const unknown = manifests.objects.filter((object) => !hasModel(object)).map(({ kind }) => kind);
    expect(unknown).toEqual(overlay === 'overlays/large' ? ['HTTPRoute'] : []);
  });

  it('give no two objects of a kind one name', () => {
    const names = manifests.objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('the types', () => {
  it(
    'have every field of the manifests',
    () => {
      // Both at once: the compiler reads the types only once.
      const objects = overlays.flatMap((overlay) => Manifests.render(overlay).objects);
      expect(fieldProblems(objects.filter(hasModel))).toEqual([]);
    },
    COMPILER_TIMEOUT_MS,
  );
});

describe('the check of the types', () => {
  const [deployment] = Manifests.render('overlays/small').all('Deployment');

  it(
    'finds a field that there is not',
    () => {
      const misspelt = { ...deployment!, spec: { ...deployment!.spec, replcias: 2 } };
      expect(fieldProblems([misspelt]).join()).toContain('replcias');
    },
    COMPILER_TIMEOUT_MS,
  );

  it('finds a value of another kind', () => {
    const wrong = { ...deployment!, spec: { ...deployment!.spec, revisionHistoryLimit: 'three' } };
    expect(valueProblems(wrong)).toContain('revisionHistoryLimit');
  });
});

describe('the examples of engines of state', () => {
  it('are what their operators read', () => {
    const kinds = Manifests.render('examples').objects.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`);
    expect(kinds.sort()).toEqual([
      'postgresql.cnpg.io/v1 Cluster',
      'rabbitmq.com/v1beta1 RabbitmqCluster',
      'redis.redis.opstreelabs.in/v1beta2 Redis',
      'v1 ConfigMap',
      'v1 Namespace',
    ]);
  });

  it('keep what Redis has, and throw nothing away', () => {
    expect(fileOf('examples/redis.yaml')).toMatch(/appendonly yes[^]*maxmemory-policy noeviction/);
  });
});

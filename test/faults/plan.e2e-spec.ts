import { describe, expect, it } from 'vitest';
import { SERVICES } from '../load/cluster.js';
import { planOf, SERVERS } from './plan.js';

describe('the plan of a seed', () => {
  it('is the same at every call, and another one for another seed', () => {
    expect(planOf(7, 120)).toEqual(planOf(7, 120));
    expect(planOf(7, 120)).not.toEqual(planOf(8, 120));
  });

  it('kills each process of every service, and each server, before the random faults', () => {
    const injected = planOf(7, 120).inTurn.map(({ target }) => target);
    expect(injected.toSorted()).toEqual([...SERVICES, ...SERVICES, ...SERVERS, ...SERVERS].toSorted());
  });

  it('begins alike for a shorter time', () => {
    expect(planOf(7, 120).atRandom).toEqual(expect.arrayContaining([...planOf(7, 30).atRandom]));
  });
});

import type { Queryable } from '#database';

/** The quickest of several runs shows the cost of the plan; the others include other load of the machine. */
const RUNS = 5;

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly Plans?: readonly PlanNode[];
}

interface Explained {
  readonly Plan: PlanNode;
  readonly 'Planning Time': number;
  readonly 'Execution Time': number;
}

/** How PostgreSQL answers a statement. */
export interface QueryPlan {
  readonly nodeTypes: readonly string[];
  /** The indexes that it reads. */
  readonly indexes: readonly string[];
  /** To plan and to run it. */
  readonly milliseconds: number;
}

/**
 * The plan of the statement that `run` sends, as it words it, at the quickest of several runs.
 * @param run gets no rows
 */
export async function quickestPlan(
  database: Queryable,
  run: (within: Queryable) => Promise<unknown>,
): Promise<QueryPlan> {
  const plans: QueryPlan[] = [];
  const explaining: Queryable = {
    query: async (sql, parameters) => {
      const rows = await database.query<{ 'QUERY PLAN': [Explained] }>(
        `EXPLAIN (ANALYZE, FORMAT JSON) ${sql}`,
        parameters,
      );
      plans.push(...rows.map((row) => planOf(row['QUERY PLAN'][0])));
      return [];
    },
  };
  for (let index = 0; index < RUNS; index += 1) await run(explaining);
  return plans.reduce((best, each) => (each.milliseconds < best.milliseconds ? each : best));
}

function planOf(explained: Explained): QueryPlan {
  const nodes = nodesOf(explained.Plan);
  return {
    nodeTypes: nodes.map((node) => node['Node Type']),
    indexes: nodes.flatMap((node) => node['Index Name'] ?? []),
    milliseconds: explained['Planning Time'] + explained['Execution Time'],
  };
}

function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

import type { Queryable } from '#database';

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly PlanNode[];
}

/** How PostgreSQL answers a statement. */
export interface QueryPlan {
  readonly nodeTypes: readonly string[];
  /** The indexes that it reads. */
  readonly indexes: readonly string[];
  /** Pages of tables and indexes that it reads, each as often as it is read: the same on a slow and on a quick machine. */
  readonly pages: number;
}

/**
 * The plan of the last statement that `run` sends, as it words it.
 * @param run gets no rows
 */
export async function queryPlan(database: Queryable, run: (within: Queryable) => Promise<unknown>): Promise<QueryPlan> {
  const plans: QueryPlan[] = [];
  await run({
    query: async (sql, parameters) => {
      const rows = await database.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
        `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${sql}`,
        parameters,
      );
      plans.push(...rows.map((row) => planOf(row['QUERY PLAN'][0].Plan)));
      return [];
    },
  });
  const plan = plans.at(-1);
  if (plan === undefined) throw new Error('no statement was sent');
  return plan;
}

function planOf(root: PlanNode): QueryPlan {
  const nodes = nodesOf(root);
  return {
    nodeTypes: nodes.map((node) => node['Node Type']),
    indexes: nodes.flatMap((node) => node['Index Name'] ?? []),
    pages: root['Shared Hit Blocks'] + root['Shared Read Blocks'],
  };
}

function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

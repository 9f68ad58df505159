/** A deployment whose sweeps are run by the test, at a time of its own. */
import type { Config } from '../../../src/config.ts'
import { sweepProject } from '../../../src/domain/retention/worker.ts'
import type { RemovedCounts } from '../../../src/domain/retention/lease.ts'
import { adminKey, type Harness } from '../../support/harness.ts'
import type { DatabaseKind } from '../../support/databases.ts'
import { openDeployment, type Deployment } from '../../support/deployment.ts'

const dayMs = 24 * 60 * 60 * 1000

export interface Retained {
  deployment: Deployment
  h: Harness
  projectId: string
  rows: Deployment['rows']
  count(table: string, where?: string): Promise<number>
  set(days: object, key?: string): Promise<Record<string, any>>
  /** Takes the row as a process does that claims it. */
  take(): Promise<{ id: string; epoch: number }>
  /** Sweeps as if so many days had passed, in this process or another one. */
  sweep(days: number, at?: Harness): Promise<RemovedCounts | null>
  /** Appends an event, so that no other one is the newest. */
  touch(): Promise<void>
  /** The cursor after everything that is in the feed now. */
  cursor(): Promise<string>
  events(
    after: string | null,
    first?: number,
  ): Promise<{ cursors: string[]; error: Record<string, any> | null }>
}

export async function openRetained(kind: DatabaseKind, config: Partial<Config> = {}): Promise<Retained> {
  const deployment = await openDeployment(kind, config)
  const h = deployment.replicas[0]!
  const { rows } = deployment
  const projectId = (await h.gql('{ projects(first: 1) { nodes { id } } }')).data['projects'].nodes[0]
    .id as string
  let touched = 0
  const touch = async () => {
    await h.mutate('updateProject', { id: projectId, name: `project ${++touched}` }, 'project { id }')
    await cursor()
  }
  const cursor = async () =>
    (await h.gql('query($id: ID!) { project(id: $id) { feedCursor } }', { id: projectId })).data['project']
      .feedCursor
  const take = async () => {
    const [row] = await rows<{ epoch: number }>(`update retentions
      set epoch = epoch + 1, wake_at = now() + interval '1 hour', status = 'IDLE'
      where id = '${projectId}' returning epoch`)
    return { id: projectId, epoch: row!.epoch }
  }
  return {
    deployment,
    h,
    projectId,
    rows,
    touch,
    cursor,
    take,
    count: async (table, where = 'true') =>
      (await rows<{ n: number }>(`select count(*)::int as n from ${table} where ${where}`))[0]!.n,
    set: (days, key = adminKey) =>
      h.mutate('setRetention', days, 'retention { version nextAt runDays eventDays auditDays }', key),
    async sweep(days, at = h) {
      await touch()
      const now = new Date(Date.now() + days * dayMs)
      return sweepProject(at.app.services, await take(), async () => true, now)
    },
    async events(after, first = 100) {
      const { data, errors } = await h.gql(
        `query($after: String, $first: Int) { projectEvents(after: $after, first: $first) {
          edges { cursor } pageInfo { endCursor hasNextPage } } }`,
        { after, first },
      )
      return {
        cursors: data?.['projectEvents']?.edges.map(({ cursor: at }: { cursor: string }) => at) ?? [],
        error: errors?.[0]?.extensions ?? null,
      }
    },
  }
}

/** `gatehouse pause` and `gatehouse resume`: the emergency stop. */
import type { Client } from '../client/index.ts'
import { note, oneLine, out, outJson, table } from './screen.ts'
import { clientOf, commonHelp, textOption, UsageError, type Command, type ParsedArguments } from './usage.ts'

export const pause: Command = {
  summary: 'stop a project, an agent or a tool',
  help: `gatehouse pause --agent ID | --tool ID | --project ID [--reason TEXT]
gatehouse pause --list [--project ID]

Stops an agent, a tool or a whole project. When the command ends, no model is
called and no tool call is sent for it, on any replica; what is under way is not touched. It takes
about two seconds.

  --agent ID     only this agent, and the runs below its runs
  --tool ID      only this tool
  --project ID   the whole project; own: that of the key
  --reason TEXT  why, for those who see that it is paused
  --list         print what is paused now, and end

${commonHelp}`,
  options: {
    agent: { type: 'string' },
    tool: { type: 'string' },
    project: { type: 'string' },
    reason: { type: 'string' },
    list: { type: 'boolean' },
  },
  isWordless: true,
  async run(given, signal) {
    const client = clientOf(given)
    const named = textOption(given, 'project')
    const projectId = named === 'own' ? await ownProject(client, signal) : (named ?? null)
    if (given.options['list']) return list(client, given, projectId, signal)
    const [agentId, toolId] = [textOption(given, 'agent') ?? null, textOption(given, 'tool') ?? null]
    if ([projectId, agentId, toolId].every((one) => one === null))
      throw new UsageError('Say what to pause: --agent ID, --tool ID or, to stop everything, --project own.')
    const input = {
      projectId,
      agentId,
      toolId,
      reason: textOption(given, 'reason') ?? null,
    }
    const made = await client.mutate<{ pause: { pause: Pause } }>(
      `mutation Pause($input: PauseInput!) { pause(input: $input) { ... on PausePayload { pause { ${fields} } } ${refusal} } }`,
      { input },
      { signal, isIdempotent: true },
    )
    tell(given, made.pause.pause, 'is paused. To go on: gatehouse resume')
    return 0
  },
}

export const resume: Command = {
  summary: 'let go on what was paused',
  help: `gatehouse resume ID…

Ends these pauses: what waited goes on where it stopped. gatehouse pause --list prints the ids.

${commonHelp}`,
  options: {},
  async run(given, signal) {
    if (given.words.length === 0) throw new UsageError('Say which: gatehouse pause --list prints the ids.')
    const client = clientOf(given)
    for (const pauseId of given.words) {
      const ended = await client.mutate<{ resume: { pause: Pause } }>(
        `mutation Resume($input: ResumeInput!) { resume(input: $input) { ... on PausePayload { pause { ${fields} } } ${refusal} } }`,
        { input: { pauseId } },
        { signal, isIdempotent: true },
      )
      tell(given, ended.resume.pause, 'goes on.')
    }
    return 0
  },
}

async function ownProject(client: Client, signal: AbortSignal): Promise<string> {
  const query = '{ viewer { project { id } } }'
  const { viewer } = await client.query<{ viewer: { project: { id: string } } }>(query, {}, { signal })
  return viewer.project.id
}

const refusal = '... on Error { __typename code message }'
const fields = 'id kind targetId reason createdAt endedAt pausedBy { id name }'

interface Pause {
  id: string
  kind: string
  targetId: string
  reason: string | null
  createdAt: string
  endedAt: string | null
  pausedBy: { id: string; name: string | null }
}
interface Page {
  pauses: { nodes: Pause[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } }
}

function tell({ options }: ParsedArguments, one: Pause, end: string): void {
  if (options['json']) outJson(one)
  else note(`${one.kind.toLowerCase()} ${one.targetId} ${end}${one.endedAt ? '' : ` ${one.id}`}`)
}

async function list(
  client: Client,
  given: ParsedArguments,
  projectId: string | null,
  signal: AbortSignal,
): Promise<number> {
  let after: string | null = null
  for (;;) {
    const { pauses }: Page = await client.query<Page>(
      `query Pauses($projectId: ID, $after: String) { pauses(projectId: $projectId, active: true, first: 100, after: $after) {
        nodes { ${fields} } pageInfo { hasNextPage endCursor } } }`,
      { projectId, after },
      { signal },
    )
    if (given.options['json']) pauses.nodes.forEach(outJson)
    else
      out(
        table(
          pauses.nodes.map((one) => [
            one.id,
            one.kind.toLowerCase(),
            one.targetId,
            one.createdAt,
            oneLine(one.pausedBy.name ?? one.pausedBy.id),
            oneLine(one.reason ?? ''),
          ]),
        ),
      )
    if (!pauses.pageInfo.hasNextPage) return 0
    after = pauses.pageInfo.endCursor
  }
}

/** Coding agents: the programs that ask here, and the tool that stands for the calls of each. */
import { z } from 'zod'
import type { JsonObject } from '../../core/json.ts'
import { choice, part } from '../../core/shapes.ts'
import { and, eq } from 'drizzle-orm'
import type { Database } from '../../store/db/database.ts'
import { tools } from '../../store/db/tables/tools.ts'
import { assertMay, inProject, operation, projectOf } from '../access/index.ts'
import { createTool, findTool, Tool } from '../tools/index.ts'

export const codingAgent = choice('CodingAgent', 'A program that writes code and asks before it acts.', {
  CLAUDE: 'The program Claude Code of Anthropic.',
  CODEX: 'The program Codex CLI of OpenAI.',
  COPILOT: 'The program Copilot CLI of GitHub.',
  GEMINI: 'The program Gemini CLI of Google.',
  OPENCODE: 'The free program OpenCode.',
})
export type CodingAgent = z.output<typeof codingAgent>

export const agentTitles: Record<CodingAgent, string> = {
  CLAUDE: 'Claude Code',
  CODEX: 'Codex',
  COPILOT: 'Copilot CLI',
  GEMINI: 'Gemini CLI',
  OPENCODE: 'OpenCode',
}

/** What the argument `effects` may hold, and what it means. */
export const effects = {
  read: 'it only reads, or changes nothing but the state of the agent itself',
  write: 'it writes a file below the working directory',
  outside: 'it writes a file outside the working directory',
  network: 'it names a program or an address of the network',
  deletion: 'it names a program that deletes, overwrites or ends something',
  unknown: 'no rule knows what it does',
} as const
export type Effect = keyof typeof effects

/** The arguments of every call. What the program says about itself is a claim: nothing here proves it. */
const inputSchema: JsonObject = {
  type: 'object',
  properties: {
    tool: { type: 'string', description: 'The tool of the agent, such as Bash.' },
    target: { type: 'string', description: 'What it acts on: the command, path or address.' },
    input: { type: 'object', description: 'The rest of what the tool is given, as the agent names it.' },
    cwd: { type: 'string', description: 'The working directory, as the agent says.' },
    session: { type: 'string', description: 'The session of the agent, as it says.' },
    effects: {
      type: 'array',
      description: 'What it may do, by rules over its words.',
      items: { enum: Object.keys(effects) },
    },
  },
  required: ['tool', 'input', 'effects'],
  additionalProperties: false,
}

/** Reading is free; everything else is asked, until a person grants it for a session. */
const startingGate = {
  title: '{tool}: {target}',
  timeoutSeconds: 24 * 60 * 60,
  when: { not: { properties: { effects: { const: ['read'] } }, required: ['effects'] } },
} as const

export const nameOf = (agent: CodingAgent): string => agent.toLowerCase()

/** The id of the tool that stands for the calls of this agent in the project; null without one. */
export async function findAgentTool(
  db: Database,
  projectId: string,
  agent: CodingAgent,
): Promise<string | null> {
  const isMeant = and(eq(tools.projectId, projectId), eq(tools.name, nameOf(agent)), eq(tools.kind, 'client'))
  const [row] = await db.select({ id: tools.id }).from(tools).where(isMeant)
  return row?.id ?? null
}

/** Idempotent: a tool that is there stays as it is, with the gate that people have given it. */
export const addCodingAgent = operation({
  name: 'addCodingAgent',
  does:
    'Adds the client tool that stands for the calls of a coding agent, with a gate that lets it read and asks about the rest; ' +
    'one that is there is returned as it is.',
  permission: 'tools:Create',
  input: z
    .object({ ...inProject, agent: codingAgent.describe('The program that will ask.') })
    .describe('The coding agent to add.'),
  payload: part('CodingAgentPayload', 'The tool of a coding agent.', {
    tool: Tool.describe('The tool that stands for the calls of the agent.'),
  }),
  refuses: ['NAME_TAKEN', 'NOT_FOUND', 'LIMITED'],
  async run(ctx, { agent, projectId }) {
    const project = await projectOf(ctx, projectId)
    await assertMay(ctx, 'tools:Create', project, 'tool/*')
    const known = await findAgentTool(ctx.db, project, agent)
    if (known) return { tool: await findTool(ctx, known) }
    return createTool(ctx, {
      projectId: project,
      name: nameOf(agent),
      title: agentTitles[agent],
      description: `What ${agentTitles[agent]} asks to run on the machine where it works.`,
      config: { client: { inputSchema } },
      gate: startingGate,
    })
  },
})

/** The configuration of an mcp tool as it is given, and what is kept of it: its upstream, and which of its tools are offered. */
import { z } from 'zod'
import * as view from '../../../core/view.ts'
import { text } from '../../../core/check.ts'
import { optional, part } from '../../../core/shapes.ts'
import { gateInput, type GatePolicy } from '../../gates/index.ts'
import {
  authInputOf,
  connectionFields,
  loginChoice,
  upstreamConfigOf,
  type UpstreamConfig,
} from '../../upstream/index.ts'

export const mcpRelay = part(
  'McpRelay',
  'The resources and prompts of an upstream MCP server that clients of the bridge may read. Only what a ' +
    'pattern matches is relayed.',
  {
    resources: view.texts('Patterns of resource URIs, in which * stands for any text.'),
    prompts: view.texts('Patterns of prompt names of the server, in which * stands for any text.'),
  },
)

/** Another MCP server as a tool: how it is reached, and which of its tools are offered, and how. */
export interface McpToolConfig extends UpstreamConfig {
  /** Names of the upstream's tools to offer; null offers all. */
  allow: string[] | null
  /** Names of tools that are never offered. */
  deny: string[]
  /** Gates of single tools, by their upstream name; the others use the gate of the whole tool. */
  gates: Record<string, GatePolicy>
  /** Resources by URI and prompts by name that MCP clients may read, as patterns. Absent: none. */
  relay?: z.output<typeof mcpRelay>
  /** Whether the upstream's hints about repetition are trusted. A destructive hint stops calls either way. */
  trustHints: boolean
}

const names = z.array(text(200, 1)).max(1000)
const patterns = z.array(text(500, 1)).max(100)

export const actionGates = z
  .array(
    part('ActionGateInput', 'The gate of one action of an mcp tool.', {
      action: text(200, 1).describe('The name of the tool at the upstream server.'),
      gate: gateInput.describe('The policy that stops calls of the action for approval.'),
    }),
  )
  .max(1000)
  .describe('Gates of single actions; every other action has the gate of the tool.')

export const mcpInput = part(
  'McpToolConfigInput',
  'An upstream MCP server (Streamable HTTP of any revision, or HTTP with SSE).',
  {
    ...connectionFields,
    login: optional(loginChoice.describe('Whose login the calls run with.'), 'SHARED'),
    allow: optional(names.describe('Names of the tools of the server to serve.'), 'all'),
    deny: optional(names.describe('Names of the tools of the server never to serve.'), 'none'),
    gates: actionGates.nullish(),
    relay: optional(
      part(
        'McpRelayInput',
        'The resources and prompts of an upstream MCP server that clients of the bridge may read. In a pattern, * stands ' +
          'for any text.',
        {
          resources: optional(
            patterns.describe('Patterns of resource URIs, such as ["*"] or ["docs://public/*"].'),
            'none',
          ),
          prompts: optional(
            patterns.describe('Patterns of prompt names of the server, such as ["*"].'),
            'none',
          ),
        },
      ).describe(
        'The resources and prompts that clients of the bridge may read; each read is a call that the gate of the tool can ' +
          'stop.',
      ),
      'none',
    ),
    trustHints: optional(
      z
        .boolean()
        .describe(
          'Whether readOnlyHint and idempotentHint of the server decide if a call is repeated after a crash.',
        ),
      'false',
    ),
  },
)

export function mcpOf(given: z.output<typeof mcpInput>): McpToolConfig {
  const { allow, deny, gates, relay, trustHints, login } = given
  return {
    ...upstreamConfigOf(given),
    // Stored only where it is set: a tool that was saved before it existed stays the same.
    ...(login === 'PER_PERSON' ? { login } : {}),
    allow: allow ? [...new Set(allow)] : null,
    deny: [...new Set(deny)],
    gates: gatesOf(gates ?? []),
    ...(relay ? { relay: { resources: relay.resources ?? [], prompts: relay.prompts ?? [] } } : {}),
    trustHints: trustHints ?? false,
  }
}

/** The gates of single actions as they are kept. */
export const gatesOf = (given: z.output<typeof actionGates>): McpToolConfig['gates'] =>
  Object.fromEntries(given.map(({ action, gate }) => [action, gate]))

/** Takes a stored configuration back to how it is given, for an API that changes parts of it. */
export function mcpInputOf({ gates, auth, ...config }: McpToolConfig): z.input<typeof mcpInput> {
  return {
    ...config,
    auth: authInputOf(auth),
    gates: Object.entries(gates).map(([action, gate]) => ({ action, gate })),
  }
}

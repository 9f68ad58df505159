/** The kind mcp of tools in GraphQL: its connection, its gates and the actions that it serves. */
import {
  authKind,
  authMeanings,
  loginChoice,
  secretOfAuth,
  type UpstreamAuth,
} from '../../../domain/upstream/index.ts'
import type { Refs } from '../builder/refs.ts'
import { gateOf, strictestOf, type GatePolicy } from '../../../domain/gates/index.ts'
import { loadCallables, mcpRelay, ownGateOf } from '../../../domain/tools/index.ts'
import type { GateTypes } from './gates.ts'
import type { addToolActions } from './tool-actions.ts'
import { addUpstreams } from './upstreams.ts'

/** Adds the object type, and returns it. */
function addUpstreamAuth(refs: Refs) {
  const { builder } = refs
  const Kind = refs.shapes.choice(authKind)
  const meanings = authMeanings
  return builder.objectRef<UpstreamAuth>('UpstreamAuth').implement({
    description:
      'How Gatehouse authenticates to a protected MCP server. Secrets are given by name, never by value.',
    fields: (t) => ({
      kind: t.field({
        type: Kind,
        description: 'The OAuth grant that is used.',
        resolve: ({ kind }) => kind,
      }),
      clientId: t.exposeString('clientId', { nullable: true, description: meanings.clientId }),
      issuer: t.exposeString('issuer', { nullable: true, description: meanings.issuer }),
      scopes: t.exposeStringList('scopes', { description: meanings.scopes }),
      secretName: t.string({
        nullable: true,
        description: 'The name of the secret that holds the client secret or private key.',
        resolve: secretOfAuth,
      }),
      algorithm: t.string({
        nullable: true,
        description: meanings.algorithm,
        resolve: (auth) => ('algorithm' in auth ? auth.algorithm : null),
      }),
      audience: t.string({
        nullable: true,
        description: meanings.audience,
        resolve: (auth) => (auth.kind === 'token_exchange' ? auth.audience : null),
      }),
      omitResource: t.boolean({
        description: meanings.omitResource,
        resolve: (auth) => auth.omitResource ?? false,
      }),
      allowedScopes: t.stringList({
        description: meanings.allowedScopes,
        resolve: (auth) => (auth.kind === 'authorization_code' ? auth.allowedScopes : []),
      }),
    }),
  })
}

/** Adds what McpTool has beside the fields of its kind. */
export function addMcpTool(
  refs: Refs,
  ToolAction: ReturnType<typeof addToolActions>,
  gates: GateTypes,
): void {
  const { builder } = refs
  const Auth = addUpstreamAuth(refs)
  addUpstreams(refs)
  const Gate = builder.objectRef<{ action: string; gate: GatePolicy }>('ActionGate').implement({
    description: 'The gate of one action of a tool.',
    fields: (t) => ({
      action: t.exposeString('action', { description: 'The name of the action.' }),
      gate: t.field({
        type: gates.Policy,
        description: 'The policy that stops calls of the action for approval.',
        resolve: ({ gate }) => ({ ...gate, source: 'OPERATOR' as const }),
      }),
    }),
  })
  builder.objectFields(refs.toolTypes.mcp, (t) => ({
    auth: t.field({
      type: Auth,
      nullable: true,
      description:
        'How Gatehouse authenticates to the server (OAuth); null: only with tokens of connectUpstream, ' +
        'when a person logged in.',
      resolve: (tool) => tool.mcp!.auth,
    }),
    login: t.field({
      type: refs.shapes.choice(loginChoice),
      description: 'Whose login the calls run with.',
      resolve: (tool) => tool.mcp!.login ?? 'SHARED',
    }),
    gates: t.field({
      type: [Gate],
      description: 'Gates of single actions; every other action has the gate of the tool.',
      resolve: (tool) => Object.entries(tool.mcp!.gates).map(([action, gate]) => ({ action, gate })),
    }),
    strictestGate: t.field({
      type: gates.Policy,
      description:
        'The strictest gate of the actions that the tool serves; that of the tool while it serves none.',
      resolve: async (tool, _args, { ctx }) =>
        strictestOf((await loadCallables(ctx, [tool])).map(ownGateOf)) ?? gateOf(tool),
    }),
    relay: t.field({
      type: refs.shapes.object(mcpRelay),
      description: 'The resources and prompts of the server that clients of the bridge may read.',
      resolve: (tool) => tool.mcp!.relay ?? { resources: [], prompts: [] },
    }),
    actions: t.field({
      type: [ToolAction],
      description: 'The actions that the tool serves, from the last discovery, at most 1,000.',
      resolve: (tool, _args, { ctx }) => loadCallables(ctx, [tool]),
    }),
  }))
}

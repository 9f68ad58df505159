/** Grants on the wire: what a verdict allows for the next calls. */
import {
  grantHolders,
  grantScopes,
  listGrants,
  revokeGrant,
  type Grant,
} from '../../domain/approvals/index.ts'
import type { EnumOf } from './builder.ts'
import { connectionOf, hasPrefix, listCost, page } from './connections.ts'
import { described } from './described.ts'
import { addMutation } from './mutation.ts'
import type { Refs } from './refs.ts'

export type GrantTypes = ReturnType<typeof addGrants>

/** Adds everything about grants and answers the input that verdicts take. */
export function addGrants(refs: Refs) {
  const { builder } = refs
  const Scope = builder.enumType('GrantScope', {
    description: 'Which calls a grant covers.',
    values: described(grantScopes, {
      EXACT: 'Calls with exactly these arguments.',
      SCHEMA: 'Calls whose arguments fit its schema.',
      TOOL: 'Every call of the tool.',
    }),
  })
  const Holder = builder.enumType('GrantHolder', {
    description: 'For whom a grant holds.',
    values: described(grantHolders, {
      AGENT: 'For the agent, in all its generations.',
      THREAD: 'For this thread.',
      CALLER: 'For the key that asked, also in direct calls.',
    }),
  })
  addGrantType(refs, Scope)
  addGrantQueries(refs)
  return {
    GrantInput: builder.inputType('GrantInput', {
      description: 'Lets some next calls pass without asking. Always with an end and a number of uses.',
      fields: (t) => ({
        scope: t.field({ type: Scope, required: true, description: 'Which calls.' }),
        schema: t.field({
          type: 'JSONSchema',
          description: 'For SCHEMA: over the arguments, presets merged in; this very call must fit.',
        }),
        holder: t.field({ type: Holder, required: true, description: 'For whom.' }),
        expiresInSeconds: t.int({ required: true, description: '1 to 2,592,000 (30 days).' }),
        maxUses: t.int({ required: true, description: '1 to 1,000.' }),
      }),
    }),
  }
}

function addGrantType(refs: Refs, Scope: EnumOf<Grant['scope']>): void {
  const { builder } = refs
  refs.Grant.implement({
    description:
      'A verdict remembered: calls that it covers pass the gate, but none for which more is asked than for that verdict. Holds for one version of the tool.',
    interfaces: [builder.nodeInterfaceRef()],
    isTypeOf: (value) => hasPrefix(value, 'grt_'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'Begins with grt_.' }),
      toolName: t.exposeString('runtimeName', { description: 'The runtime name of the tool.' }),
      toolVersion: t.exposeInt('toolVersion', { description: 'The version of the tool that it holds for.' }),
      tool: t.field({
        type: refs.Tool,
        nullable: true,
        description: 'The tool as it is now; null when it was deleted or may not be seen.',
        resolve: (grant, _args, { loaders }) => loaders.tools.load(grant.toolId),
      }),
      scope: t.field({
        type: Scope,
        description: 'Which calls it covers.',
        resolve: (grant) => grant.scope,
      }),
      schema: t.expose('schema', { type: 'JSONSchema', nullable: true, description: 'For SCHEMA.' }),
      agentId: t.exposeID('agentId', { nullable: true, description: 'The agent that it holds for.' }),
      threadId: t.exposeID('threadId', { nullable: true, description: 'The thread that it holds for.' }),
      requestedBy: t.exposeID('requestedBy', { nullable: true, description: 'The key that it holds for.' }),
      maxUses: t.exposeInt('maxUses', { description: 'Calls that it lets pass at most.' }),
      uses: t.exposeInt('uses', { description: 'Calls that it has let pass; each names it as grant.' }),
      expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When it ends.' }),
      approval: t.field({
        type: refs.Approval,
        nullable: true,
        description: 'The approval whose verdict made it; null when it may not be seen.',
        resolve: (grant, _args, { loaders }) => loaders.approvals.load(grant.approvalId),
      }),
      grantedBy: t.exposeID('grantedBy', { description: 'The key that gave the verdict.' }),
      revokedAt: t.expose('revokedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When it was ended early.',
      }),
      revokedBy: t.exposeID('revokedBy', { nullable: true, description: 'By which key.' }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was given.' }),
    }),
  })
}

function addGrantQueries(refs: Refs): void {
  const { builder } = refs
  const connection = connectionOf(refs.Grant, 'Grant')
  builder.queryField('grants', (t) =>
    t.field({
      type: connection,
      description: 'The grants of a project, newest first.',
      args: {
        projectId: t.arg.id({ description: "The project; the key's own when left out." }),
        toolId: t.arg.id({ description: 'Only for this tool.' }),
        active: t.arg.boolean({ description: 'true: only those that can still let a call pass.' }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: (_root, { projectId, toolId, active, ...args }, { ctx }) =>
        page(args, (p) => listGrants(ctx, { projectId, toolId, active, page: p })),
    }),
  )
  addMutation(refs, {
    name: 'revokeGrant',
    description: 'Ends a grant at once. Calls that it has let pass go on. Idempotent.',
    input: builder.inputType('RevokeGrantInput', {
      description: 'The grant to end.',
      fields: (t) => ({ grantId: t.id({ required: true, description: 'Begins with grt_.' }) }),
    }),
    payload: builder.objectRef<{ grant: Grant }>('RevokeGrantPayload').implement({
      description: 'The grant as it stands now.',
      fields: (t) => ({ grant: t.expose('grant', { type: refs.Grant, description: 'The grant.' }) }),
    }),
    errors: ['NotFoundError'],
    run: async (ctx, input) => ({ grant: await revokeGrant(ctx, input) }),
  })
}

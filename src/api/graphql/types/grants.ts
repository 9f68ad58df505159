/** Grants in GraphQL: verdicts that also answer later calls. */
import { idShape, optional } from '../../../core/shapes.ts'
import { z } from 'zod'
import { grantScope, isRefusal, listGrants } from '../../../domain/approvals/index.ts'
import { connectionOf, hasPrefix } from '../builder/connections.ts'
import type { Refs } from '../builder/refs.ts'
import { addList } from '../builder/queries.ts'

/** Adds the type and queries of grants. */
export function addGrants(refs: Refs): void {
  addGrantType(refs)
  addGrantQueries(refs)
}

function addGrantType(refs: Refs): void {
  const { builder } = refs
  refs.Grant.implement({
    description:
      'A remembered verdict: calls that it covers pass the gate, unless the gate requires more than it did ' +
      'for that verdict, or are refused. A grant ends when what is judged of the tool changes.',
    interfaces: [builder.nodeInterfaceRef()],
    isTypeOf: (value) => hasPrefix(value, 'grt_'),
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The id of the grant; it begins with grt_.' }),
      toolName: t.exposeString('runtimeName', { description: 'The runtime name of the tool.' }),
      toolVersion: t.exposeInt('toolVersion', {
        description: 'The version of the tool when the grant was given.',
      }),
      tool: t.field({
        type: refs.Tool,
        nullable: true,
        description: 'The tool as it is now; null when it was deleted or is hidden from this API key.',
        resolve: (grant, _args, { loaders }) => loaders.tools.load(grant.toolId),
      }),
      scope: t.field({
        type: refs.shapes.choice(grantScope),
        description: 'Which calls the grant covers.',
        resolve: (grant) => grant.scope,
      }),
      schema: t.expose('schema', {
        type: 'JSONSchema',
        nullable: true,
        description: 'The JSON Schema that the arguments must match; null unless the scope is SCHEMA.',
      }),
      agentId: t.exposeID('agentId', {
        nullable: true,
        description: 'The id of the agent whose calls are covered; null for another holder.',
      }),
      threadId: t.exposeID('threadId', {
        nullable: true,
        description: 'The id of the thread whose calls are covered; null for another holder.',
      }),
      requestedBy: t.exposeID('requestedBy', {
        nullable: true,
        description: 'The id of the API key or person whose calls are covered; null for another holder.',
      }),
      refuses: t.boolean({
        description: 'Whether calls that the grant covers are rejected, instead of passing the gate.',
        resolve: isRefusal,
      }),
      maxUses: t.exposeInt('maxUses', {
        description: 'The maximum number of calls that may pass; 0 when the grant refuses them.',
      }),
      uses: t.exposeInt('uses', {
        description: 'The number of calls that have passed; each has this grant in ToolCall.grant.',
      }),
      expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When the grant expires.' }),
      approval: t.field({
        type: refs.Approval,
        nullable: true,
        description:
          'The approval whose verdict created the grant; null when it is hidden from this API key.',
        resolve: (grant, _args, { loaders }) => loaders.approvals.load(grant.approvalId),
      }),
      grantedBy: t.exposeID('grantedBy', {
        description: 'The id of the API key or person that gave the verdict.',
      }),
      revokedAt: t.expose('revokedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When the grant was revoked; null when it was not.',
      }),
      revokedBy: t.exposeID('revokedBy', {
        nullable: true,
        description: 'The id of the API key or person that revoked the grant; null when it was not revoked.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the grant was created.' }),
    }),
  })
}

function addGrantQueries(refs: Refs): void {
  const connection = connectionOf(refs.Grant, 'Grant')
  addList(refs, {
    name: 'grants',
    type: connection,
    description: 'The grants of a project, newest first. Permission: grants:List.',
    args: {
      toolId: idShape('Only grants for the tool with this id.').nullish(),
      active: optional(
        z.boolean().describe('Whether only grants that can still answer a call are returned.'),
        'false',
      ),
    },
    list: listGrants,
  })
}

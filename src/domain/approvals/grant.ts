/** A grant: a verdict that also answers later calls. Pure. */
import type { z } from 'zod'
import { choice, idOf, part } from '../../core/shapes.ts'
import * as view from '../../core/view.ts'

export const grantScope = choice('GrantScope', 'Which calls a grant covers.', {
  EXACT: 'The grant covers calls with exactly the arguments of the decided call.',
  SCHEMA: 'The grant covers calls whose arguments match its schema.',
  TOOL: 'The grant covers every call of the tool.',
})

export const grantView = part(
  'Grant',
  'A remembered verdict: calls that it covers pass the gate, unless the gate requires more than it did ' +
    'for that verdict, or are refused. A grant ends when what is judged of the tool changes.',
  {
    id: idOf('grant'),
    approvalId: view.object(
      'approval',
      'Approval',
      'The approval whose verdict created the grant; null when it is hidden from this API key.',
    ),
    toolId: view.object(
      'tool',
      'Tool',
      'The tool as it is now; null when it was deleted or is hidden from this API key.',
    ),
    toolVersion: view.int('The version of the tool when the grant was given.'),
    runtimeName: view.under('toolName', view.text('The runtime name of the tool.')),
    scope: grantScope.describe('Which calls the grant covers.'),
    schema: view
      .jsonSchema('The JSON Schema that the arguments must match; null unless the scope is SCHEMA.')
      .nullable(),
    /** Exactly one of the three is set. */
    agentId: view.id('The id of the agent whose calls are covered; null for another holder.').nullable(),
    threadId: view.id('The id of the thread whose calls are covered; null for another holder.').nullable(),
    requestedBy: view
      .principal(
        'requester',
        'The principal whose calls the grant lets pass; null when the grant is for an agent or thread.',
        'The id of the API key or person whose calls are covered; null for another holder.',
      )
      .nullable(),
    /** A release that knows no refusals finds no use left at 0. */
    maxUses: view.int('The maximum number of calls that may pass; 0 when the grant refuses them.'),
    uses: view.int('The number of calls that have passed; each has this grant in ToolCall.grant.'),
    expiresAt: view.date('When the grant expires.'),
    grantedBy: view.principal(
      'granter',
      'The principal that gave the verdict.',
      'The id of the API key or person that gave the verdict.',
    ),
    revokedAt: view.date('When the grant was revoked; null when it was not.').nullable(),
    revokedBy: view
      .principal(
        'revoker',
        'The principal that revoked the grant; null when it was not revoked.',
        'The id of the API key or person that revoked the grant; null when it was not revoked.',
      )
      .nullable(),
    createdAt: view.date('When the grant was created.'),
  },
)
export interface Grant extends z.output<typeof grantView> {
  projectId: string
  /** The action that the grant covers, with the definition that it had then; null for a tool with one action. */
  action: string | null
  definitionHash: string | null
  argumentsHash: string | null
}

/** Whether the grant refuses the calls that it covers. */
export function isRefusal({ maxUses }: Pick<Grant, 'maxUses'>): boolean {
  return maxUses === 0
}

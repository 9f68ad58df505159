/** API keys, principals, sessions, rate limits and the audit in GraphQL. */
import { z } from 'zod'
import * as access from '../../../domain/access/index.ts'
import * as signIn from '../../../domain/sign-in/index.ts'
import { connectionOf } from '../builder/connections.ts'
import { addList } from '../builder/queries.ts'
import type { Refs } from '../builder/refs.ts'
import { idShape, optional } from '../../../core/shapes.ts'
import { auditFilter, auditEntry } from '../../../domain/audit/index.ts'

/** Implements Principal. */
function addPrincipals(refs: Refs): void {
  refs.shapes.implement(refs.Principal, access.principalShape, undefined, {
    interfaces: [refs.builder.nodeInterfaceRef()],
    isTypeOf: (value) =>
      typeof value === 'object' &&
      value !== null &&
      'kind' in value &&
      access.principalKindChoice.safeParse(value.kind).success,
  })
}

export function addKeys(refs: Refs): void {
  const { shapes } = refs
  addPrincipals(refs)
  shapes.node(refs.ApiKey, 'apiKey', access.apiKeyShape, (t) => ({
    revocation: t.field({
      type: shapes.object(access.keyRevocation),
      description: 'What revokeApiKey would end now.',
      complexity: 20,
      resolve: (key, _args, { ctx }) => access.revocationOf(ctx, key),
    }),
    lastUsedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description:
        'When the API key, or a session of it, was last used, to within about a minute; null: never.',
      resolve: ({ id }, _args, { loaders }) => loaders.keyUses.load(id),
    }),
  }))
  const connection = connectionOf(refs.ApiKey, 'ApiKey')
  addList(refs, {
    name: 'apiKeys',
    type: connection,
    description: 'The API keys of a project, newest first. Permission: keys:List.',
    args: {
      votes: optional(
        z
          .boolean()
          .describe(
            'Whether to list only API keys that may decide, which are those of people, or, with false, only those of programs.',
          ),
        'all',
      ),
    },
    list: access.listApiKeys,
  })
}

export function addSessions(refs: Refs): void {
  addSessionType(refs)
  const connection = connectionOf(refs.Session, 'Session')
  addList(refs, {
    name: 'sessions',
    type: connection,
    description:
      'The sessions of a project that have not ended, newest first. Those of the caller are also in ' +
      'viewer.sessions, without a permission. Permission: sessions:List.',
    args: {
      principalId: optional(idShape('The id of the API key or person whose sessions to list.'), 'all'),
    },
    list: signIn.listSessions,
  })
}

function addSessionType({ shapes, Session }: Refs): void {
  shapes.implement(Session, access.sessionShape, (t) => ({
    isCurrent: t.boolean({
      description: 'Whether this session sent the request.',
      resolve: (session, _args, { ctx }) => session.id === ctx.principal.sessionId,
    }),
  }))
}

export function addLimits(refs: Refs): void {
  const { builder } = refs
  refs.shapes.implement(refs.RateLimit, access.rateLimit)
  builder.queryField('rateLimits', (t) =>
    t.field({
      type: [refs.RateLimit],
      description: 'The rate limits that are set in a project, at most 1,000. Permission: limits:List.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
      },
      resolve: (_root, args, { ctx }) => access.listRateLimits(ctx, args),
    }),
  )
}

export function addAudit(refs: Refs): void {
  refs.shapes.implement(refs.AuditEntry, auditEntry)
  const connection = connectionOf(refs.AuditEntry, 'AuditEntry')
  addList(refs, {
    name: 'auditEntries',
    type: connection,
    description: 'The audit of a project, newest first. Permission: audit:List.',
    args: {
      filter: auditFilter.nullish().describe('Only entries that match all given fields.'),
    },
    list: access.listAudit,
  })
}

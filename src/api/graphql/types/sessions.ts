/** Sessions of browsers in GraphQL. */
import { sessionMethods } from '../../../domain/access/index.ts'
import * as signIn from '../../../domain/sign-in/index.ts'
import { connectionOf, listCost, page } from '../builder/connections.ts'
import { described } from '../builder/described.ts'
import type { Refs } from '../builder/refs.ts'

export function addSessions(refs: Refs): void {
  const { builder } = refs
  addSessionType(refs)
  const connection = connectionOf(refs.Session, 'Session')
  builder.queryField('sessions', (t) =>
    t.field({
      type: connection,
      description:
        'The sessions of a project that have not ended, newest first. Those of the caller are also in ' +
        'viewer.sessions, without a permission. Permission: sessions:List.',
      args: {
        projectId: t.arg.id({ description: 'The id of the project. Default: the project of the API key.' }),
        principalId: t.arg.id({
          description: 'The id of the API key or person whose sessions to list. Default: all.',
        }),
        ...t.arg.connectionArgs(),
      },
      complexity: listCost,
      resolve: (_root, { projectId, principalId, ...args }, { ctx }) =>
        page(args, (p) => signIn.listSessions(ctx, { projectId, principalId, page: p })),
    }),
  )
}

function addSessionType({ builder, Session: ref }: Refs): void {
  const SessionMethod = builder.enumType('SessionMethod', {
    description: 'How a session began.',
    values: described(sessionMethods, {
      KEY: 'The browser signed in with an API key.',
      OIDC: 'The person signed in at the identity provider.',
      LINK: 'The browser opened a one-time link: that of an invitation, or the one that the server printed at its start.',
    }),
  })
  ref.implement({
    description:
      'A browser that is signed in. It has the rights of its API key or person, and ends with the API key.',
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The id of the session; it begins with ses_.' }),
      principalId: t.exposeID('principalId', {
        description: 'The id of the API key or person that signed in.',
      }),
      method: t.field({
        type: SessionMethod,
        description: 'How the session began.',
        resolve: (session) => session.method,
      }),
      isCurrent: t.boolean({
        description: 'Whether this session sent the request.',
        resolve: (session, _args, { ctx }) => session.id === ctx.principal.sessionId,
      }),
      remoteAddress: t.exposeString('remoteAddress', {
        nullable: true,
        description: 'The address from which the browser signed in.',
      }),
      userAgent: t.exposeString('userAgent', {
        nullable: true,
        description:
          'The browser as it described itself, at most 200 characters; a client can write anything here.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the browser signed in.' }),
      usedAt: t.expose('usedAt', {
        type: 'DateTime',
        description: 'When the session was last used, to within five minutes.',
      }),
      expiresAt: t.expose('expiresAt', {
        type: 'DateTime',
        description: 'When the session ends unless it is used before: 12 hours after its last use.',
      }),
      endsAt: t.expose('endsAt', {
        type: 'DateTime',
        description: 'When the session ends even if it is used: after 7 days, or with its API key.',
      }),
    }),
  })
}

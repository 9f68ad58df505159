/** Sessions of browsers in GraphQL. */
import { idShape, optional } from '../../../core/shapes.ts'
import { sessionMethods } from '../../../domain/access/index.ts'
import * as signIn from '../../../domain/sign-in/index.ts'
import { connectionOf } from '../builder/connections.ts'
import { described } from '../builder/described.ts'
import type { Refs } from '../builder/refs.ts'
import { addList } from '../builder/queries.ts'

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

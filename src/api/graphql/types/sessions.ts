/** Sessions of browsers in GraphQL. */
import { idShape, optional } from '../../../core/shapes.ts'
import { sessionShape } from '../../../domain/access/index.ts'
import * as signIn from '../../../domain/sign-in/index.ts'
import { connectionOf } from '../builder/connections.ts'
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

function addSessionType({ shapes, Session }: Refs): void {
  shapes.implement(Session, sessionShape, (t) => ({
    isCurrent: t.boolean({
      description: 'Whether this session sent the request.',
      resolve: (session, _args, { ctx }) => session.id === ctx.principal.sessionId,
    }),
  }))
}

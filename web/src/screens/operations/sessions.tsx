/** Browsers that are signed in: the own ones, and those of others for who may see them. */
import { useState } from 'react'
import { graphql, type FragmentOf } from '../../api/document.ts'
import { principal } from '../../api/principal.ts'
import { refusalOf } from '../../api/outcome.ts'
import { usePages } from '../../api/pages.ts'
import { useMutation, useQuery } from '../../api/query.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Listing } from '../../parts/listing.tsx'
import { Ago, Moment } from '../../parts/moments.tsx'
import { Principal } from '../../parts/principal.tsx'
import { Empty, Failure, Skeleton } from '../../parts/states.tsx'
import { Foreign } from '../../parts/text.tsx'
import { toast } from '../../parts/toasts.tsx'
import { browserName } from './browser-name.ts'

const sessionRow = graphql(
  `
    fragment SessionRow on Session {
      id
      principal {
        ...PrincipalParts
      }
      method
      createdAt
      usedAt
      expiresAt
      endsAt
      remoteAddress
      userAgent
      isCurrent
    }
  `,
  [principal],
)
type SessionRow = FragmentOf<typeof sessionRow>

const ownQuery = graphql(
  `
    query OwnSessions {
      viewer {
        id
        permissions {
          action
        }
        sessions {
          ...SessionRow
        }
      }
    }
  `,
  [sessionRow],
)

const allQuery = graphql(
  `
    query Sessions($projectId: ID, $after: String) {
      sessions(projectId: $projectId, first: 50, after: $after) {
        nodes {
          ...SessionRow
        }
        pageInfo {
          endCursor
          hasNextPage
        }
      }
    }
  `,
  [sessionRow],
)

const endMutation = graphql(`
  mutation EndSession($input: EndSessionInput!) {
    endSession(input: $input) {
      __typename
      ... on Error {
        message
      }
    }
  }
`)

const endAllMutation = graphql(`
  mutation EndSessions($input: EndSessionsInput!) {
    endSessions(input: $input) {
      __typename
      ... on EndSessionsPayload {
        sessions {
          id
        }
      }
      ... on Error {
        message
      }
    }
  }
`)

const failed = 'The server did not answer. Read the list again.'

export function Sessions() {
  const { data, error, reload } = useQuery(ownQuery, {})
  const [edition, setEdition] = useState(0)
  const endAll = useMutation(endAllMutation)
  if (error && !data) return <Failure error={error} retry={reload} />
  if (!data) return <Skeleton lines={6} />
  const { id, sessions, permissions } = data.viewer
  const may = new Set(permissions.map(({ action }) => action))
  const others = sessions.filter(({ isCurrent }) => !isCurrent).length
  const again = () => {
    reload()
    setEdition(edition + 1)
  }
  const endOthers = async () => {
    const result = (await endAll.mutate({ input: { principalId: id, keepCurrent: true } }))?.endSessions
    if (result?.__typename === 'EndSessionsPayload')
      toast(
        `${result.sessions.length === 1 ? 'One session has' : `${result.sessions.length} sessions have`} ended.`,
      )
    else toast(refusalOf(result)?.message ?? failed, { tone: 'bad' })
    again()
  }
  return (
    <>
      <div className="row">
        <span className="mute">A session ends 12 hours after its last use, and after 7 days at most.</span>
        <span className="row spread">
          <button type="button" onClick={again}>
            Read again
          </button>
          {others > 0 && (
            <Confirm
              word="End all others"
              question="End all your other sessions?"
              isBusy={endAll.isRunning}
              onConfirm={() => void endOthers()}
            >
              <p>Every other browser in which you are signed in is signed out at once. This one stays.</p>
            </Confirm>
          )}
        </span>
      </div>
      {error !== null && <Failure error={error} retry={reload} />}
      <h2>Yours</h2>
      {sessions.length === 0 ? (
        <Empty title="No sessions">Browsers in which you are signed in stand here.</Empty>
      ) : (
        <section className="table-scroll" aria-label="Your sessions" tabIndex={0}>
          <table>
            <thead>
              <tr>
                {['Browser', 'Signed in', 'Last used', 'Ends'].map((name) => (
                  <th key={name} scope="col">
                    {name}
                  </th>
                ))}
                <th scope="col">
                  <span className="sr-only">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {sessions.map((session) => (
                <Row key={session.id} session={session} isOwn mayEnd onEnded={again} />
              ))}
            </tbody>
          </table>
        </section>
      )}
      {may.has('sessions:List') && (
        <Everybody key={edition} viewerId={id} mayEnd={may.has('sessions:End')} onEnded={again} />
      )}
    </>
  )
}

interface Others {
  viewerId: string
  mayEnd: boolean
  onEnded(): void
}

function Everybody({ viewerId, mayEnd, onEnded }: Others) {
  const all = usePages(allQuery, {}, (data) => data.sessions)
  const pages = { ...all, nodes: all.nodes.filter(({ principal: { id } }) => id !== viewerId) }
  return (
    <>
      <h2>Of others</h2>
      <Listing
        pages={pages}
        label="Sessions of others"
        columns={['Browser', 'Signed in', 'Last used', 'Ends', '']}
        empty={{ title: 'Nobody else is signed in', text: 'Sessions of other people and keys stand here.' }}
        renderRow={(session) => (
          <Row key={session.id} session={session} isOwn={false} mayEnd={mayEnd} onEnded={onEnded} />
        )}
      />
    </>
  )
}

const methods: Record<SessionRow['method'], string> = {
  KEY: 'with an API key',
  LINK: 'with the link of the first run',
  OIDC: 'at the identity provider',
}

interface RowProps {
  session: SessionRow
  isOwn: boolean
  mayEnd: boolean
  onEnded(): void
}

function Row({ session, isOwn, mayEnd, onEnded }: RowProps) {
  const { mutate, isRunning } = useMutation(endMutation)
  const end = async () => {
    const result = (await mutate({ input: { id: session.id } }))?.endSession
    const refused = refusalOf(result)
    if (!result || refused) toast(refused?.message ?? failed, { tone: 'bad' })
    else toast('The session has ended.')
    onEnded()
  }
  return (
    <tr>
      <td className="session-browser">
        {session.userAgent === null ? (
          <span className="mute">not named</span>
        ) : (
          <Foreign text={browserName(session.userAgent)} max={200} />
        )}
        <div className="small mute">
          {session.remoteAddress === null ? 'from an unknown address' : `from ${session.remoteAddress}`}
        </div>
        {!isOwn && <Principal of={session.principal} />}
      </td>
      <td>
        <Ago at={session.createdAt} />
        <div className="small mute">{methods[session.method]}</div>
      </td>
      <td className="nowrap">
        <Ago at={session.usedAt} />
      </td>
      <td>
        <Moment at={session.expiresAt} />
      </td>
      <td className="actions">
        {session.isCurrent ? (
          <span className="tone-good strong">this one</span>
        ) : mayEnd ? (
          <Confirm word="End" question="End this session?" isBusy={isRunning} onConfirm={() => void end()}>
            <p>Its requests fail at once, and its pages close.</p>
          </Confirm>
        ) : null}
      </td>
    </tr>
  )
}

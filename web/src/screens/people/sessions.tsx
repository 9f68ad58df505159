/** Browsers that are signed in: the own ones, and those of others for who may see them. */
import { useState } from 'react'
import { command } from '../../api/command.ts'
import { graphql, type FragmentOf } from '../../api/document.ts'
import { list } from '../../api/reads.ts'
import { principal } from '../../api/principal.ts'
import { usePages } from '../../api/pages.ts'
import { useQuery } from '../../api/query.ts'
import { Confirm, ConfirmAction } from '../../parts/confirm.tsx'
import { Listing } from '../../parts/listing.tsx'
import { Ago, Moment } from '../../parts/moments.tsx'
import { Principal } from '../../parts/principal.tsx'
import { Empty, Failure, Skeleton } from '../../parts/states.tsx'
import { Foreign } from '../../parts/text.tsx'
import { toast } from '../../parts/toasts.tsx'
import { browserName } from './browser-name.ts'
import { Table } from '../../parts/table.tsx'
import { useAction } from '../../parts/use-action.ts'
import { t, plural } from '../../texts/texts.tsx'

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

const allQuery = list('sessions', sessionRow)

const endMutation = command('endSessions')

const endAllAnswer = graphql(`
  fragment EndSessionsAnswer on EndSessionsPayload {
    sessions {
      id
    }
  }
`)
const endAllMutation = command('endSessions', endAllAnswer)

const columns = [t('Browser'), t('Signed in'), t('Last used'), t('Expires'), '']

export function Sessions() {
  const { data, error, reload } = useQuery(ownQuery, {})
  const [edition, setEdition] = useState(0)
  const endAll = useAction(endAllMutation)
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
    const ended = (await endAll.act({ input: { principalId: id, keepCurrent: true } }))?.sessions.length
    if (ended !== undefined) toast(plural(ended, 'One session has ended.', '{count} sessions have ended.'))
    again()
  }
  return (
    <>
      <div className="row">
        <span className="mute">
          {t('A session ends 12 hours after its last use, and after 7 days at most.')}
        </span>
        <span className="row spread">
          <button type="button" onClick={again}>
            {t('Refresh')}
          </button>
          {others > 0 && (
            <Confirm
              needs={null}
              word={t('End all others')}
              question={t('End all your other sessions?')}
              isBusy={endAll.isRunning}
              onConfirm={() => void endOthers()}
            >
              <p>{t('You are signed out of every other browser at once. This one stays signed in.')}</p>
            </Confirm>
          )}
        </span>
      </div>
      {error !== null && <Failure error={error} retry={reload} />}
      <h2>{t('Yours|sessions')}</h2>
      {sessions.length === 0 ? (
        <Empty title={t('No sessions')}>{t('Browsers in which you are signed in appear here.')}</Empty>
      ) : (
        <Table label={t('Your sessions')} columns={columns}>
          {sessions.map((session) => (
            <Row key={session.id} session={session} isOwn mayEnd onEnded={again} />
          ))}
        </Table>
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
  const all = usePages(allQuery, {})
  const pages = { ...all, nodes: all.nodes.filter(({ principal: { id } }) => id !== viewerId) }
  return (
    <>
      <h2>{t('Of others')}</h2>
      <Listing
        pages={pages}
        label={t('Sessions of others')}
        columns={columns}
        empty={{
          title: t('Nobody else is signed in'),
          text: t('Sessions of other people and keys appear here.'),
        }}
        renderRow={(session) => (
          <Row key={session.id} session={session} isOwn={false} mayEnd={mayEnd} onEnded={onEnded} />
        )}
      />
    </>
  )
}

const methods: Record<SessionRow['method'], string> = {
  KEY: t('with an API key'),
  LINK: t('with the link of the first run'),
  OIDC: t('at the identity provider'),
}

interface RowProps {
  session: SessionRow
  isOwn: boolean
  mayEnd: boolean
  onEnded(): void
}

function Row({ session, isOwn, mayEnd, onEnded }: RowProps) {
  return (
    <tr>
      <td className="session-browser">
        {session.userAgent === null ? (
          <span className="mute">{t('not named')}</span>
        ) : (
          <Foreign text={browserName(session.userAgent)} max={200} />
        )}
        <div className="small mute">
          {session.remoteAddress === null
            ? t('from an unknown address')
            : t('from {address}', { address: session.remoteAddress })}
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
          <span className="tone-good strong">{t('this browser')}</span>
        ) : mayEnd ? (
          <ConfirmAction
            needs={null}
            word={t('End')}
            question={t('End this session?')}
            mutation={endMutation}
            variables={{ input: { id: session.id } }}
            done={t('The session has ended.')}
            onEnd={onEnded}
          >
            <p>{t('Its requests fail at once, and its pages close.')}</p>
          </ConfirmAction>
        ) : null}
      </td>
    </tr>
  )
}

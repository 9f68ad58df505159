/** That something is paused, by whom and why, with the way to let it go on. */
import { Link } from 'wouter'
import { graphql, type FragmentOf } from '../api/document.ts'
import { principal } from '../api/principal.ts'
import { Icon } from './icons.tsx'
import { Ago } from './moments.tsx'
import { ResumeButton } from './pause.tsx'
import { Principal } from './principal.tsx'
import { Foreign } from './text.tsx'
import { t, T } from '../texts/texts.tsx'

export const pauseParts = graphql(
  `
    fragment PauseParts on Pause {
      id
      kind
      targetId
      reason
      createdAt
      pausedBy {
        ...PrincipalParts
      }
      targetName
    }
  `,
  [principal],
)

export function PauseNotice({ pause }: { pause: FragmentOf<typeof pauseParts> }) {
  const { kind, targetName, targetId, reason, createdAt, pausedBy } = pause
  const name = kind === 'PROJECT' ? t('everything') : targetName
  return (
    <>
      <p>
        <Icon name="pause" /> <strong>{t('Paused:')}</strong>{' '}
        {kind === 'PROJECT' ? (
          t('everything in this project')
        ) : (
          <T
            text={kind === 'TOOL' ? 'the tool {name}' : 'the agent {name}'}
            name={
              <Link href={`/${kind.toLowerCase()}s/${targetId}`}>
                <Foreign text={name} max={60} />
              </Link>
            }
          />
        )}
        <T text=", {time}, by {who}" time={<Ago at={createdAt} />} who={<Principal of={pausedBy} />} />
        {reason && (
          <>
            {': '}
            <Foreign text={reason} max={200} />
          </>
        )}
      </p>
      <ResumeButton pauseId={pause.id} of={name} />
    </>
  )
}

/** What led to a question: the agents, what the user asked of the first, and what the model said before it called. */
import { Link } from 'wouter'
import { graphql } from '../../api/document.ts'
import { useQuery } from '../../api/query.ts'
import { Fold } from '../folded.tsx'
import { Foreign, LongText, markDeception } from '../text.tsx'
import { saidQuery, type Question } from './documents.ts'
import { t } from '../../texts/texts.tsx'

const askedQuery = graphql(`
  query Asked($id: ID!) {
    approval(id: $id) {
      id
      asked {
        agents {
          id
          name
        }
        messages {
          role
          text
          isCut
        }
      }
    }
  }
`)

/**
 * What was asked and said before the call, as far as this person may read it. Until `isSettled` it is being read: what comes
 * after it on the page waits, so that nothing moves under a person who reads or presses.
 */
export function useLedTo({ id, generation, toolCall }: Question) {
  const stepIndex = toolCall?.stepIndex ?? null
  const asked = useQuery(askedQuery, { id }, { skip: generation === null })
  const isSaid = generation !== null && stepIndex !== null
  const saidOf = { id: generation?.id ?? '', after: (stepIndex ?? 0) - 1 }
  const said = useQuery(saidQuery, saidOf, { skip: !isSaid })
  const isRead = ({ isLoading, error }: { isLoading: boolean; error: unknown }) =>
    !isLoading || error !== null
  return {
    asked: asked.data?.approval?.asked,
    step: said.data?.generation?.steps[0],
    isSettled: generation === null || (isRead(asked) && (!isSaid || isRead(said))),
  }
}

type LedTo = ReturnType<typeof useLedTo>
type Asked = NonNullable<LedTo['asked']>

/** Who asks: the agents from the first to the one that calls, else the key or person. */
export function Chain({ question, asked }: { question: Question; asked: Asked | null | undefined }) {
  const { agent } = question
  const agents = asked?.agents ?? (agent ? [agent] : [])
  if (agents.length === 0) return <>{t('a direct call')}</>
  return agents.map(({ id, name }, at) => (
    <span key={id}>
      {at > 0 && <span className="mute"> → </span>}
      <Link href={`/agents/${id}`}>
        <Foreign text={name ?? t('an agent')} max={80} />
      </Link>
    </span>
  ))
}

export function UserRequest({ asked }: { asked: Asked }) {
  if (asked.messages.length === 0) return null
  return (
    <section aria-label={t('What the user asked')}>
      <h2>{t('What the user asked')}</h2>
      <ol className="list asked">
        {asked.messages.map(({ role, text, isCut }, at) => (
          // Messages have no ids here, and never change places.
          // oxlint-disable-next-line react/no-array-index-key
          <li key={at}>
            <span className="small mute">{role === 'USER' ? t('User') : t('Agent')}</span>
            <blockquote>
              {text === '[masked]' ? (
                <span className="masked" title={t('It may have a value that is hidden.')}>
                  {t('hidden')}
                </span>
              ) : (
                <Fold name={t('the message')}>
                  <div className="long">
                    <bdi>{markDeception(text)}</bdi>
                    {isCut && <span className="mute"> {t('… the message is longer')}</span>}
                  </div>
                </Fold>
              )}
            </blockquote>
          </li>
        ))}
      </ol>
    </section>
  )
}

/** What the model wrote before it asked. */
export function ModelWords({ step }: { step: LedTo['step'] }) {
  if (!step || step.text.trim() === '') return null
  return (
    <section aria-label={t('What the model said')}>
      <h2>{t('The model said')}</h2>
      <blockquote>
        <LongText text={step.text} />
      </blockquote>
      <p className="small mute">{step.model.name}</p>
    </section>
  )
}

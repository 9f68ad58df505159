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

/** Undefined while it is read; null where there is nothing, or nothing that this person may read. */
export function useAsked({ id, generation }: Question) {
  const { data } = useQuery(askedQuery, { id }, { skip: generation === null })
  return generation === null ? null : data?.approval?.asked
}

type Asked = NonNullable<ReturnType<typeof useAsked>>

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
      <ol className="asked">
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
export function ModelWords({ generationId, stepIndex }: { generationId: string; stepIndex: number }) {
  const { data } = useQuery(saidQuery, { id: generationId, after: stepIndex - 1 })
  const step = data?.generation?.steps[0]
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

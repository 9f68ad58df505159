/** The rows of the inbox. */
import { Link } from 'wouter'
import { Icon } from '../../parts/icons.tsx'
import { Countdown } from '../../parts/moments.tsx'
import { Sentence, sentenceText } from '../../parts/sentence.tsx'
import { Foreign } from '../../parts/text.tsx'
import type { Question } from '../../parts/question/documents.ts'
import type { Questions } from './use-questions.ts'
import { t } from '../../texts/texts.tsx'

interface Props {
  questions: Questions
  /** The search, as the query of an address; empty without one. */
  query: string
  chosen: string | null
  marked: ReadonlySet<string>
  onMark(id: string): void
}

export function QuestionList({ questions, query, chosen, marked, onMark }: Props) {
  return (
    <>
      {questions.waiting > 0 && (
        <button type="button" className="more" onClick={questions.showWaiting}>
          {t('{count} new', { count: questions.waiting })}
        </button>
      )}
      <ul className="rows" aria-label={t('Waiting requests')}>
        {questions.ids.map((id) => {
          const question = questions.rows.get(id)
          return (
            question && (
              <Row
                key={id}
                question={question}
                href={`/approvals/${id}${query}`}
                isOpen={questions.isOpen(id)}
                isChosen={id === chosen}
                isMarked={marked.has(id)}
                onMark={() => onMark(id)}
              />
            )
          )
        })}
      </ul>
      {questions.hasMore && (
        <button type="button" className="more" onClick={questions.showMore}>
          {t('Show 100 more')}
        </button>
      )}
    </>
  )
}

interface RowProps {
  question: Question
  href: string
  isOpen: boolean
  isChosen: boolean
  isMarked: boolean
  onMark(): void
}

function Row({ question, href, isOpen, isChosen, isMarked, onMark }: RowProps) {
  const { tool, summary, agent, expiresAt, claim } = question
  return (
    <li className="question-row" data-chosen={isChosen || undefined}>
      <label className="mark-box">
        <input type="checkbox" checked={isMarked} onChange={onMark} />
        <span className="sr-only">{t('Select {summary}', { summary: sentenceText(summary) })}</span>
      </label>
      <Link href={href} aria-current={isChosen ? 'true' : undefined}>
        <span className="question-name">
          <span>
            <Sentence of={summary} />
          </span>
          {tool?.annotations.destructiveHint && (
            <span className="tone-bad" title={t('destructive')}>
              <Icon name="warn" />
              <span className="sr-only">{t('destructive')}</span>
            </span>
          )}
        </span>
        <span className="question-left small">{isOpen ? <Countdown until={expiresAt} /> : t('settled')}</span>
        <span className="question-agent small mute cut">
          {claim ? (
            <Foreign text={t('{who} is on it', { who: claim.byName })} max={60} />
          ) : agent ? (
            <Foreign text={agent.name} max={60} />
          ) : (
            t('direct call')
          )}
        </span>
      </Link>
    </li>
  )
}

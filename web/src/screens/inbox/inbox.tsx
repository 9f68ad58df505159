/** The inbox: what waits for a person, the soonest deadline first, with the chosen question beside the list. */
import './inbox.css'
import { lazy, useCallback, useEffect, useRef, useState } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { useQuery } from '../../api/query.ts'
import { useAddress } from '../../parts/address.ts'
import { SearchField } from '../../parts/filters.tsx'
import { Icon } from '../../parts/icons.tsx'
import { useKeys } from '../../parts/keys.ts'
import { Empty, Failure, Skeleton } from '../../parts/states.tsx'
import { Batch } from './batch.tsx'
import { questionQuery, questionTypes, type Question } from '../../parts/question/documents.ts'
import { FirstSteps } from './first-steps.tsx'
import { QuestionPane } from '../../parts/question/question.tsx'
import { QuestionList } from './question-list.tsx'
import { ChooseAll } from './choose-all.tsx'
import { allOrNone, nextRow } from './rows.ts'
import { useQuestions, type Questions } from './use-questions.ts'
import { t } from '../../texts/texts.tsx'

const Decided = lazy(async () => ({ default: (await import('./decided.tsx')).DecisionList }))
const Grants = lazy(async () => ({ default: (await import('./grants.tsx')).Grants }))

export function Inbox({ id }: { id: string | null }) {
  const search = useSearch()
  const view = new URLSearchParams(search).get('view') ?? 'waiting'
  return (
    <>
      <h1 className="sr-only">{t('Inbox')}</h1>
      {view === 'decided' && !id ? <Decided /> : view === 'grants' && !id ? <Grants /> : <Waiting id={id} />}
    </>
  )
}

/** Wide enough for list and question side by side. */
const wide = window.matchMedia('(min-width: 720px)')

function Waiting({ id }: { id: string | null }) {
  const [, go] = useLocation()
  const { params, replace } = useAddress()
  const search = params.get('q') ?? ''
  const query = search === '' ? '' : `?q=${encodeURIComponent(search)}`
  const run = useRun()
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set())
  const questions = useQuestions(id, id !== null || marked.size > 0, search)
  const open = useCallback(
    (next: string | null) => go(`${next ? `/approvals/${next}` : '/approvals'}${query}`),
    [go, query],
  )
  // Who came from a run goes back to it, after the verdict and without one.
  const leave = useCallback(
    (next: string | null) => (run === null ? open(next) : go(`/runs/${run}`)),
    [run, open, go],
  )
  useFirst(id, questions, query, go)
  useListed(id, questions, search, open)
  /** The question that took the place of the one that was decided last. */
  const [led, setLed] = useState<string | null>(null)
  const toggle = (one: string) =>
    setMarked((before) =>
      before.has(one) ? new Set([...before].filter((other) => other !== one)) : new Set([...before, one]),
    )
  const waiting = questions.ids.filter(questions.isOpen)
  const toggleAll = () => setMarked((before) => allOrNone(waiting, before))
  useListKeys(id, questions, open, toggle, toggleAll)

  const failure = questions.error !== null && <Failure error={questions.error} retry={questions.reload} />
  const isEmpty = questions.rows.size === 0
  if (failure && isEmpty && search === '') return failure
  if (questions.isLoading) return <Skeleton lines={8} />
  const chosen = [...marked].flatMap((one) => (questions.isOpen(one) ? (questions.rows.get(one) ?? []) : []))
  return (
    <div className={id ? 'inbox has-chosen' : 'inbox'}>
      <div className="inbox-list">
        <div className="inbox-search">
          <SearchField
            label={t('Search or paste an id')}
            value={search}
            most={200}
            isFirst
            onChange={(q) => replace({ q })}
          />
        </div>
        <div className="inbox-chosen">
          <ChooseAll
            chosen={chosen.length}
            waiting={waiting.length}
            hasMore={questions.hasMore}
            onToggle={toggleAll}
          />
          <Batch questions={chosen} onDone={() => setMarked(new Set())} />
        </div>
        {failure}
        {questions.ids.length > 0 ? (
          <QuestionList questions={questions} query={query} chosen={id} marked={marked} onMark={toggle} />
        ) : failure ? null : search === '' ? (
          <FirstSteps />
        ) : (
          <Empty title={t('No matching requests')}>
            {t('Search matches whole words; the last word may be incomplete.')}
          </Empty>
        )}
      </div>
      <div className="inbox-detail">
        {id ? (
          <Chosen key={id} id={id} questions={questions} leave={leave} isLed={id === led} onLead={setLed} />
        ) : (
          questions.ids.length > 0 && <Empty title={t('Select a request')} />
        )}
      </div>
    </div>
  )
}

/** The run from which the question was opened; null: none. */
function useRun(): string | null {
  const run = new URLSearchParams(useSearch()).get('run')
  return run !== null && /^gen_\w+$/.test(run) ? run : null
}

/** Opens the first question when the inbox is entered on a wide screen. Later nothing is chosen by itself. */
function useFirst(
  id: string | null,
  { ids, isLoading }: Questions,
  query: string,
  go: (to: string, options: { replace: boolean }) => void,
) {
  const isEntered = useRef(false)
  useEffect(() => {
    if (isLoading || isEntered.current) return
    isEntered.current = true
    if (id === null && ids[0] && wide.matches) go(`/approvals/${ids[0]}${query}`, { replace: true })
  }, [id, ids, isLoading, query, go])
}

/** What a search does not find is not chosen any more: nobody decides about what the list does not show. */
function useListed(
  id: string | null,
  { ids, isLoading, isLeaving }: Questions,
  search: string,
  open: (next: null) => void,
) {
  const isLost = id !== null && search !== '' && !isLoading && !isLeaving && !ids.includes(id)
  useEffect(() => {
    if (isLost) open(null)
  }, [isLost, open])
}

function useListKeys(
  id: string | null,
  { ids }: Questions,
  open: (id: string | null) => void,
  toggle: (id: string) => void,
  toggleAll: () => void,
): void {
  const move = (by: number) => {
    const at = id === null ? -1 : ids.indexOf(id)
    const next = ids[Math.min(ids.length - 1, Math.max(0, at + by))]
    if (next) open(next)
  }
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    x: () => id && toggle(id),
    '*': toggleAll,
    c: () => void (id && navigator.clipboard.writeText(id).catch(() => {})),
    Escape: () => {
      const field = document.activeElement
      if (
        field instanceof HTMLElement &&
        field !== document.body &&
        field.matches('input:not([type=checkbox]), textarea, select, .editor')
      )
        field.blur()
      else open(null)
    },
  })
}

interface ChosenProps {
  id: string
  questions: Questions
  /** Goes on to another question or to the list, or back to the run that led here. */
  leave(next: string | null): void
  /** Whether it took the place of one that was decided. */
  isLed: boolean
  onLead(next: string | null): void
}

/** The chosen question, from the list or, when it is not in it, read by its id. */
function Chosen({ id, questions, leave, isLed, onLead }: ChosenProps) {
  const own = useQuery(questionQuery, { id }, { eventTypes: questionTypes })
  const question = own.data ? own.data.approval : (questions.rows.get(id) ?? undefined)
  const reload = () => {
    own.reload()
    questions.reload()
  }
  const decided = (after: Question) => {
    if (after.status === 'PENDING') return reload()
    const isOpen = (other: string) => questions.isOpen(other) && other !== id
    questions.reload()
    const next = wide.matches ? nextRow(questions.ids, id, isOpen) : null
    onLead(next)
    leave(next)
    if (next === null) document.getElementById('content')?.focus({ preventScroll: true })
  }
  if (own.error && !question) return <Failure error={own.error} retry={own.reload} />
  if (question === null)
    return (
      <Empty title={t('This request no longer exists')}>
        <Link href="/approvals">{t('Back to the inbox')}</Link>
      </Empty>
    )
  if (!question) return <Skeleton lines={6} />
  const back = (
    <button
      type="button"
      className="quiet back"
      aria-label={t('Back to the list')}
      onClick={() => leave(null)}
    >
      <Icon name="back" />
    </button>
  )
  return (
    <>
      {own.error !== null && <Failure error={own.error} retry={own.reload} />}
      <QuestionPane
        question={question}
        onDecided={decided}
        reload={reload}
        back={back}
        takesFocus={isLed}
        isHeld={questions.isLeaving}
      />
    </>
  )
}

/** What waits for a person, with the chosen request beside the list. */
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useQuery } from '../../api/query.ts'
import { useAddress } from '../../parts/address.ts'
import { Icon } from '../../parts/icons.tsx'
import { useKeys } from '../../parts/keys.ts'
import { questionQuery, questionTypes, type Question } from '../../parts/question/documents.ts'
import { QuestionPane } from '../../parts/question/question.tsx'
import { Empty, Failure, Skeleton } from '../../parts/states.tsx'
import { t } from '../../texts/texts.tsx'
import { Batch } from './batch.tsx'
import { FirstSteps } from './first-steps.tsx'
import { QuestionList } from './question-list.tsx'
import { allOrNone, nextRow } from './rows.ts'
import { useQuestions, type Questions } from './use-questions.ts'
import { ChooseAll, WaitingFilters } from './waiting-filters.tsx'
import { isNarrowed, itemsOf, queryOf, viewOf, type Group, type Item } from './waiting-view.ts'

/** Wide enough for list and request side by side. */
const wide = window.matchMedia('(min-width: 720px)')

export function Waiting({ id }: { id: string | null }) {
  const { params } = useAddress()
  const view = viewOf(params)
  const query = queryOf(params)
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set())
  const questions = useQuestions(id, id !== null || marked.size > 0, view)
  const { all, rows, isOpen } = questions
  const { items, isUnfolded, fold } = useItems(id, questions, view.group)
  const { open, leave } = useWays(query, params.get('run'))
  const isFiltered = isNarrowed(view)
  useFirst(id, questions, items, open)
  useListed(id, questions, items, isFiltered || view.group !== null, open)
  /** The question that is to have the focus: it took the place of one that was decided, or Enter led into it. */
  const [led, setLed] = useState<string | null>(null)
  const waiting = useMemo(() => rows.flatMap(({ id: one }) => (all.has(one) ? one : [])), [rows, all])
  const mark = (ids: readonly string[]) => setMarked((before) => allOrNone(ids, before))
  const current = useListKeys(id, items, { open, mark, toggleAll: () => mark(waiting) })

  const failure = questions.error !== null && (
    <Failure error={questions.error} retry={() => questions.reload()} />
  )
  if (failure && questions.all.size === 0 && !isFiltered) return failure
  if (questions.isLoading) return <Skeleton lines={8} />
  const chosen = rows.filter((row) => marked.has(row.id) && isOpen(row.id))
  return (
    <div className={id ? 'inbox has-chosen' : 'inbox'}>
      <div className="inbox-list">
        <WaitingFilters questions={questions} />
        <div className="inbox-chosen">
          <ChooseAll
            questions={questions}
            waiting={waiting.length}
            chosen={chosen.length}
            onToggle={() => mark(waiting)}
          />
          <Batch
            questions={chosen}
            onClear={() => setMarked(new Set())}
            onSent={(ids) => {
              // What a filter hides was not decided, and stays marked.
              setMarked((before) => new Set([...before].filter((one) => !ids.includes(one))))
              questions.reload(ids)
            }}
          />
        </div>
        {failure}
        {questions.waiting > 0 && (
          <button type="button" className="more" onClick={questions.showWaiting}>
            {t('{count} new', { count: questions.waiting })}
          </button>
        )}
        {items.length > 0 ? (
          <QuestionList
            items={items}
            query={query}
            chosen={id}
            current={current}
            marked={marked}
            isOpen={isOpen}
            isUnfolded={isUnfolded}
            onMark={mark}
            onFold={fold}
            onEnter={(next) => {
              setLed(next)
              document.getElementById('question-title')?.focus()
            }}
          />
        ) : failure ? null : isFiltered ? (
          <Empty title={t('No matching requests')}>
            {t('Search matches whole words; the last word may be incomplete.')}
          </Empty>
        ) : (
          <FirstSteps />
        )}
      </div>
      <div className="inbox-detail">
        {id ? (
          <Chosen
            key={id}
            id={id}
            questions={questions}
            order={items.flatMap((item) => ('row' in item ? item.key : []))}
            leave={leave}
            isLed={id === led}
            onLead={setLed}
          />
        ) : (
          items.length > 0 && <Empty title={t('Select a request')} />
        )}
      </div>
    </div>
  )
}

/** The ways to other addresses; `run` is the run from which the request was opened. */
function useWays(query: string, run: string | null) {
  const [, go] = useLocation()
  const open = useCallback(
    (next: string | null, replace = false) =>
      go(`${next ? `/approvals/${next}` : '/approvals'}${query}`, { replace }),
    [go, query],
  )
  // Who came from a run goes back to it, after the verdict and without one.
  const leave = useCallback(
    (next: string | null) => (run !== null && /^gen_\w+$/.test(run) ? go(`/runs/${run}`) : open(next)),
    [run, open, go],
  )
  return { open, leave }
}

/** The lines of the list. A group is folded until it is opened, but for the one of the request that was open before. */
function useItems(id: string | null, { rows }: Questions, by: string | null) {
  const [first, setFirst] = useState({ by, id })
  if (first.by !== by) setFirst({ by, id })
  const [folds, setFolds] = useState<ReadonlyMap<string, boolean>>(new Map())
  const isUnfolded = useCallback(
    (group: Group) => folds.get(group.key) ?? group.rows.some((row) => row.id === first.id),
    [folds, first],
  )
  const items = useMemo(() => itemsOf(rows, by, isUnfolded), [rows, by, isUnfolded])
  const fold = (group: Group) => setFolds((before) => new Map([...before, [group.key, !isUnfolded(group)]]))
  return { items, isUnfolded, fold }
}

/** Opens the first request when the inbox is entered on a wide screen. Later nothing is chosen by itself. */
function useFirst(
  id: string | null,
  { isLoading }: Questions,
  items: readonly Item[],
  open: (next: string, replace: boolean) => void,
) {
  const isEntered = useRef(false)
  useEffect(() => {
    if (isLoading || isEntered.current) return
    isEntered.current = true
    const [first] = items
    if (id === null && first && 'row' in first && wide.matches) open(first.key, true)
  }, [id, items, isLoading, open])
}

/** What the list does not show is not chosen any more: nobody decides about what is not there. */
function useListed(
  id: string | null,
  { isLoading, isLeaving, isWhole }: Questions,
  items: readonly Item[],
  isPart: boolean,
  open: (next: null) => void,
) {
  const isSettled = !isLoading && !isLeaving && isWhole
  const isLost = id !== null && isPart && isSettled && !items.some(({ key }) => key === id)
  useEffect(() => {
    if (isLost) open(null)
  }, [isLost, open])
}

interface Acts {
  open(id: string | null, replace?: boolean): void
  mark(ids: readonly string[]): void
  toggleAll(): void
}

/** The keys of the list, which move the focus from line to line. Returns the line where it is; -1: none. */
function useListKeys(id: string | null, items: readonly Item[], { open, mark, toggleAll }: Acts): number {
  /** The line of a group, or of a row that is not open beside the list. */
  const [line, setLine] = useState<string | null>(null)
  /** The line that gets the focus as soon as it is drawn. */
  const wanted = useRef<string | null>(null)
  const focus = (key: string | null) => {
    wanted.current = key
    const element = key && document.querySelector<HTMLElement>(`[data-item="${CSS.escape(key)}"]`)
    // On a phone the list is hidden while the sheet is shown.
    if (!element || element.getClientRects().length === 0) return
    wanted.current = null
    element.focus({ preventScroll: true })
    element.closest('li')?.scrollIntoView({ block: 'nearest' })
  }
  useEffect(() => {
    if (wanted.current !== null) focus(wanted.current)
  })
  const at = items.findIndex(({ key }) => key === (id ?? line))
  const move = (by: number) => {
    const item = items[Math.min(items.length - 1, Math.max(0, at + by))]
    if (!item) return
    focus(item.key)
    setLine(item.key)
    const next = 'row' in item && (id !== null || wide.matches) ? item.key : null
    if (next !== id) open(next, id !== null && next !== null)
  }
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    x: () => {
      const item = items[at]
      if (item) mark('row' in item ? [item.key] : item.group.rows.map((row) => row.id))
    },
    '*': toggleAll,
    c: () => void (id && navigator.clipboard.writeText(id).catch(() => {})),
    Escape: () => {
      const field = document.activeElement
      if (!(field instanceof HTMLElement)) return
      if (field.matches('input:not([type=checkbox]), textarea, select, .editor')) return field.blur()
      setLine(id ?? line)
      // Out of the sheet and into the list first; on a phone that is one step.
      if (field.closest('.inbox-detail') || !wide.matches) focus(id)
      if (!field.closest('.inbox-detail') || !wide.matches || at < 0) open(null)
    },
  } satisfies Record<string, () => void>)
  return at
}

interface ChosenProps {
  id: string
  questions: Questions
  /** The requests in the order of the list. */
  order: readonly string[]
  /** Goes on to another question or to the list, or back to the run that led here. */
  leave(next: string | null): void
  /** Whether it took the place of one that was decided. */
  isLed: boolean
  onLead(next: string | null): void
}

/** The chosen request, read by its id: the list has less of it. */
function Chosen({ id, questions, order, leave, isLed, onLead }: ChosenProps) {
  const own = useQuery(questionQuery, { id }, { eventTypes: questionTypes })
  const question = own.data?.approval
  const reload = () => {
    own.reload()
    questions.reload([id])
  }
  const decided = (after: Question) => {
    if (after.status === 'PENDING') return reload()
    const isOpen = (other: string) => questions.isOpen(other) && other !== id
    questions.reload([id])
    const next = wide.matches ? nextRow(order, id, isOpen) : null
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

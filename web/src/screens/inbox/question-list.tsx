/** The rows of the inbox, and the groups that they stand in. */
import { Link } from 'wouter'
import { Icon } from '../../parts/icons.tsx'
import { ClockTime, Countdown } from '../../parts/moments.tsx'
import { CutSentence, sentenceText } from '../../parts/sentence.tsx'
import { Foreign } from '../../parts/text.tsx'
import { LongList, type Place } from '../../parts/long-list.tsx'
import { numberText, t, T } from '../../texts/texts.tsx'
import type { PendingRow } from './pending.ts'
import type { Group, Item } from './waiting-view.ts'

/** The height of each line of a long list, in pixels. */
const lineHeight = 76

interface Props {
  items: readonly Item[]
  /** The view, as the query of an address; empty without one. */
  query: string
  chosen: string | null
  /** The line that has the focus, or had it last; -1: none. */
  current: number
  marked: ReadonlySet<string>
  isOpen(id: string): boolean
  isUnfolded(group: Group): boolean
  onMark(ids: readonly string[]): void
  onFold(group: Group): void
  /** Enter was pressed on the row: it goes on into the sheet. */
  onEnter(id: string): void
}

export function QuestionList(props: Props) {
  const { items, query, chosen, current, marked, isOpen, isUnfolded, onMark, onFold, onEnter } = props
  return (
    <LongList
      className="rows"
      label={t('Waiting requests')}
      count={items.length}
      height={lineHeight}
      current={current}
      renderRow={(at, place) => {
        const item = items[at]!
        if ('group' in item)
          return (
            <GroupRow
              key={item.key}
              group={item.group}
              place={place}
              isUnfolded={isUnfolded(item.group)}
              count={item.group.rows.filter(({ id }) => marked.has(id)).length}
              onMark={() => onMark(item.group.rows.flatMap(({ id }) => (isOpen(id) ? id : [])))}
              onFold={() => onFold(item.group)}
            />
          )
        const { row } = item
        return (
          <Row
            key={row.id}
            row={row}
            place={place}
            href={`/approvals/${row.id}${query}`}
            isOpen={isOpen(row.id)}
            isChosen={row.id === chosen}
            isMarked={marked.has(row.id)}
            onMark={() => onMark([row.id])}
            onEnter={() => onEnter(row.id)}
          />
        )
      }}
    />
  )
}

interface GroupProps {
  group: Group
  place: Place
  isUnfolded: boolean
  /** How many of its rows are marked. */
  count: number
  onMark(): void
  onFold(): void
}

function GroupRow({ group: { key, name, rows }, place, isUnfolded, count, onMark, onFold }: GroupProps) {
  const soonest = rows.reduce(
    (first, { expiresAt }) => (expiresAt < first ? expiresAt : first),
    rows[0]!.expiresAt,
  )
  return (
    <li className="question-row question-group" {...place}>
      <label className="mark-box">
        <input
          type="checkbox"
          checked={count === rows.length}
          ref={(box) => {
            if (box) box.indeterminate = count > 0 && count < rows.length
          }}
          onChange={onMark}
        />
        <span className="sr-only">{t('Select all {count} of {name}', { count: rows.length, name })}</span>
      </label>
      <button type="button" className="quiet" data-item={key} aria-expanded={isUnfolded} onClick={onFold}>
        <span className="question-name">
          <Icon name="chevron" />
          <span>
            <b>{numberText(rows.length)}</b> × <Foreign text={name} max={120} />
          </span>
        </span>
        <span className="question-left small">
          <Countdown until={soonest} />
        </span>
      </button>
    </li>
  )
}

interface RowProps {
  row: PendingRow
  place: Place
  href: string
  isOpen: boolean
  isChosen: boolean
  isMarked: boolean
  onMark(): void
  onEnter(): void
}

function Row({ row, place, href, isOpen, isChosen, isMarked, onMark, onEnter }: RowProps) {
  const { id, tool, summary, agent, expiresAt, claim } = row
  return (
    <li className="question-row" data-chosen={isChosen || undefined} {...place}>
      <label className="mark-box">
        <input type="checkbox" checked={isMarked} onChange={onMark} />
        <span className="sr-only">{t('Select {summary}', { summary: sentenceText(summary) })}</span>
      </label>
      <Link
        href={href}
        data-item={id}
        aria-current={isChosen ? 'true' : undefined}
        onClick={({ detail }: { detail: number }) => {
          // The press of a key, not of a pointer.
          if (detail === 0) onEnter()
        }}
      >
        <span className="question-name">
          <CutSentence of={summary} />
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
            <span title={t('direct call')}>{t('direct call')}</span>
          )}
        </span>
        {isOpen && (
          <span className="question-left small mute">
            <T text="expires {clock}" clock={<ClockTime at={expiresAt} />} />
          </span>
        )}
      </Link>
    </li>
  )
}

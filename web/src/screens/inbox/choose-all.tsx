/** The box above the list: chooses the questions of the list, or none; and how many of them are chosen. */
import { mostAtOnce } from './rows.ts'
import { t, numberText } from '../../texts/texts.tsx'

interface Props {
  chosen: number
  /** How many of the list wait. */
  waiting: number
  /** Whether the server has more than the list. */
  hasMore: boolean
  onToggle(): void
}

export function ChooseAll({ chosen, waiting, hasMore, onToggle }: Props) {
  if (waiting === 0) return null
  const isAll = chosen >= Math.min(waiting, mostAtOnce)
  const total = hasMore ? t('more than {count}', { count: numberText(waiting) }) : numberText(waiting)
  return (
    <label className="choose-all">
      <input
        type="checkbox"
        checked={isAll}
        ref={(box) => {
          if (box) box.indeterminate = chosen > 0 && !isAll
        }}
        onChange={onToggle}
      />
      <span>
        {chosen > 0
          ? t('{count} of {total} selected', { count: chosen, total })
          : waiting > mostAtOnce || hasMore
            ? t('Select the first {count} of {total}', { count: mostAtOnce, total })
            : t('Select all {total}', { total })}
      </span>
    </label>
  )
}

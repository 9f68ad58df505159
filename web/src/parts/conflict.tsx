/** Somebody else changed what is being edited: theirs beside mine, and how to go on. */
import { useState } from 'react'
import { changedNames, rebase } from './rebase.ts'
import { Value } from './json-view.tsx'
import { t } from '../texts/texts.tsx'

interface Props<Draft extends object> {
  base: Draft
  mine: Draft
  theirs: Draft
  /** How members are called on screen. */
  nameOf(name: string): string
  /** Goes on with this draft, on top of what is there now. */
  onTake(draft: Draft): void
}

export function Conflict<Draft extends object>({ base, mine, theirs, nameOf, onTake }: Props<Draft>) {
  const [givenUp, setGivenUp] = useState<ReadonlySet<string>>(new Set())
  const own = new Set<string>(changedNames(base, mine))
  const changed = changedNames(base, theirs)
  const toggle = (name: string, isMine: boolean) =>
    setGivenUp((before) =>
      isMine ? new Set([...before].filter((one) => one !== name)) : new Set([...before, name]),
    )
  return (
    <section className="conflict" role="alert" aria-label={t('Changed by someone else')}>
      <h2>{t('Someone else changed this')}</h2>
      <p>{t('Your changes were not saved. Choose what to keep, then save again.')}</p>
      <section className="table-scroll" aria-label={t('Changes')} tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">{t('Field')}</th>
              <th scope="col">{t('Theirs')}</th>
              <th scope="col">{t('Yours')}</th>
            </tr>
          </thead>
          <tbody>
            {changed.map((name) => (
              <tr key={name}>
                <th scope="row">{nameOf(name)}</th>
                <td>
                  <Side
                    name={name}
                    word={t('Take theirs for {name}', { name: nameOf(name) })}
                    value={theirs[name]}
                    isChosen={own.has(name) ? givenUp.has(name) : null}
                    onChoose={() => toggle(name, false)}
                  />
                </td>
                <td>
                  {own.has(name) ? (
                    <Side
                      name={name}
                      word={t('Keep yours for {name}', { name: nameOf(name) })}
                      value={mine[name]}
                      isChosen={!givenUp.has(name)}
                      onChoose={() => toggle(name, true)}
                    />
                  ) : (
                    <span className="mute">{t('not changed')}</span>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <div className="row">
        <button type="button" className="primary" onClick={() => onTake(rebase(base, mine, theirs, givenUp))}>
          {t('Continue with these')}
        </button>
        <button type="button" onClick={() => onTake(theirs)}>
          {t('Discard all of yours')}
        </button>
      </div>
    </section>
  )
}

interface SideProps {
  name: string
  word: string
  value: unknown
  /** Null: there is nothing to choose. */
  isChosen: boolean | null
  onChoose(): void
}

function Side({ name, word, value, isChosen, onChoose }: SideProps) {
  if (isChosen === null) return <Value value={value} />
  return (
    <label className="row">
      <input
        type="radio"
        name={`conflict-${name}`}
        checked={isChosen}
        aria-label={word}
        onChange={onChoose}
      />
      <Value value={value} />
    </label>
  )
}

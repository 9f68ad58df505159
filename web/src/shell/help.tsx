/** The keys, and whether single letters act at all. */
import { useStore } from '../api/store.ts'
import { Dialog } from '../parts/dialog.tsx'
import { KeyHint } from '../parts/key-hint.tsx'
import { singleKeys } from '../parts/keys.ts'

const groups: [title: string, keys: [keys: string[], what: string][]][] = [
  [
    'Everywhere',
    [
      [['g', 'i'], 'Inbox'],
      [['g', 'r'], 'Runs'],
      [['g', 'a'], 'Agents'],
      [['g', 't'], 'Tools'],
      [['g', 'u'], 'Upstreams'],
      [['g', 'o'], 'Operations'],
      [['mod+k'], 'Go to a screen, tool, agent or id'],
      [['/'], 'Filter'],
      [['j'], 'Next'],
      [['k'], 'Previous'],
      [['Enter'], 'Open'],
      [['Escape'], 'Back; first leaves the field'],
      [['c'], 'Copy the id'],
      [['?'], 'This list'],
    ],
  ],
  [
    'A question',
    [
      [['mod+Enter'], 'Approve'],
      [['mod+Backspace'], 'Reject'],
      [['e'], 'Edit the arguments'],
      [['r'], 'Write a reason'],
      [['x'], 'Choose several'],
    ],
  ],
  [
    'A run',
    [
      [['['], 'Previous run'],
      [[']'], 'Next run'],
      [['p'], 'Parent'],
      [['t'], 'Root'],
      [['0'], 'Whole timeline'],
    ],
  ],
]

export function Help({ onClose }: { onClose(): void }) {
  const isOn = useStore(singleKeys)
  return (
    <Dialog title="Keys" onClose={onClose}>
      <div className="help">
        {groups.map(([title, keys]) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {keys.map(([combination, what]) => (
                <div key={what}>
                  <dt>
                    {combination.map((key) => (
                      <KeyHint key={key} keys={key} />
                    ))}
                    <span className="sr-only">{combination.join(' then ')}</span>
                  </dt>
                  <dd>{what}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
        <label className="row">
          <input type="checkbox" checked={isOn} onChange={(event) => singleKeys.set(event.target.checked)} />
          Single letters act. Switch this off when you speak to your computer.
        </label>
      </div>
    </Dialog>
  )
}

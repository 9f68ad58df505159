/** The keys, and whether single letters act at all. */
import { graphql } from '../api/document.ts'
import { useQuery } from '../api/query.ts'
import { useStore } from '../api/store.ts'
import { Dialog } from '../parts/dialog.tsx'
import { KeyHint } from '../parts/key-hint.tsx'
import { singleKeys } from '../parts/keys.ts'
import { places } from '../parts/places.ts'
import { t } from '../texts/texts.tsx'

const groups: [title: string, keys: [keys: string[], what: string][]][] = [
  [
    t('Everywhere'),
    [
      ...places
        .flatMap(({ views }) => views)
        .flatMap(({ key, name }): [string[], string][] => (key ? [[['g', key], name]] : [])),
      [['mod+k'], t('Go to a screen, tool, agent or id')],
      [['/'], t('Filter')],
      [['j'], t('Next')],
      [['k'], t('Previous')],
      [['Enter'], t('Open')],
      [['Escape'], t('Back (leaves a field first)')],
      [['c'], t('Copy the id')],
      [['?'], t('This list')],
    ],
  ],
  [
    t('An approval request'),
    [
      [['mod+Enter'], t('Approve')],
      [['mod+Backspace'], t('Reject')],
      [['e'], t('Edit the arguments')],
      [['r'], t('Write a reason')],
      [['x'], t('Select several')],
      [['*'], t('Select or clear all')],
    ],
  ],
  [
    t('A run'),
    [
      [['['], t('Previous run')],
      [[']'], t('Next run')],
      [['p'], t('Parent')],
      [['t'], t('Root')],
      [['0'], t('Whole timeline')],
    ],
  ],
]

const releaseQuery = graphql(`
  query Release {
    viewer {
      release {
        version
        schema
      }
    }
  }
`)

export function Help({ onClose }: { onClose(): void }) {
  const isOn = useStore(singleKeys)
  const release = useQuery(releaseQuery, {}).data?.viewer.release
  return (
    <Dialog title={t('Keys|keyboard')} onClose={onClose}>
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
                    <span className="sr-only">{combination.join(` ${t('then')} `)}</span>
                  </dt>
                  <dd>{what}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
        <label className="row">
          <input type="checkbox" checked={isOn} onChange={(event) => singleKeys.set(event.target.checked)} />
          {t('Single letters are shortcuts. Turn this off if you use voice control.')}
        </label>
        <p className="mute">
          {release &&
            t('Gatehouse {version}, schema {schema}', { version: release.version, schema: release.schema })}
        </p>
      </div>
    </Dialog>
  )
}

/** The name of a model, with a word for the one that is no AI. */
import './model-name.css'
import { Foreign } from '../text.tsx'
import { t } from '../../texts/texts.tsx'

export function ModelName({ model }: { model: { name: string; isAi: boolean } }) {
  return (
    <>
      <Foreign text={model.name} max={80} />
      {!model.isAi && <span className="runs-rehearsal">{t('not an AI')}</span>}
    </>
  )
}

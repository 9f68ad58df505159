/** What models refused lately, as this process remembers it, so that not every run has to ask in vain. */
import { BoundedMap } from '../../../core/bounded-map.ts'
import { memoryOf } from '../../../store/db/memory.ts'
import type { Services } from '../../access/index.ts'
import type { Accepted } from './left-out.ts'

/** Until a new run asks a model again for a tool that it refused: providers change, too. */
const keptMs = 10 * 60_000
const mostModels = 500
const mostTools = 200

const models = memoryOf<{ accepted: Accepted; until: number }>(mostModels)

/** A model of a project, as `provider/model`. */
interface Place {
  projectId: string
  model: string
}

const keyOf = ({ projectId, model }: Place) => `${projectId} ${model}`

/** What the model is known to take; null when it refused nothing lately. */
export function rememberedOf({ db, clock }: Services, place: Place): Accepted | null {
  const found = models(db).get(keyOf(place))
  return found && clock.now() < found.until ? found.accepted : null
}

/** Adds to what is remembered of the model. All of it is forgotten together. */
export function rememberAccepted(services: Services, place: Place, accepted: Accepted): void {
  const { db, clock } = services
  const known = rememberedOf(services, place)
  const refused = new BoundedMap<string, string>(mostTools)
  for (const [tool, reason] of [...(known?.refused ?? []), ...accepted.refused]) refused.set(tool, reason)
  const until = known ? models(db).get(keyOf(place))!.until : clock.now() + keptMs
  models(db).set(keyOf(place), { accepted: { ...accepted, refused }, until })
}

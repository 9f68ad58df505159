/** The entry point of basis: what a judgement rests on, and what a statement proves of it. */
export {
  sendWithinMs,
  parkedMs,
  pausesOf,
  pausableOf,
  pausesOfRun,
  runIsFree,
  areFree,
  stillPaused,
} from './pauses.ts'
export {
  StaleReadError,
  type Basis,
  validKey,
  liveSession,
  notOver,
  awaitedCall,
  prove,
  basisColumns,
  basisRow,
  basisHolds,
  withProof,
  memoryOf,
} from './proof.ts'

/** The entry point of projects, and of their event feeds. */
export { killServer, readTour, tourShape } from './tour.ts'
export { SavedView, savedView, saveView, deleteView, listSavedViews } from './saved-views.ts'
export {
  feedCursor,
  listProjectEvents,
  watchProject,
  assertOneMayRegate,
  createProject,
  dropSecondForGates,
  findProject,
  getProjects,
  insertProject,
  listProjects,
  updateProject,
  Project,
  projectShape,
} from './projects.ts'

/** The entry point of projects, and of their event feeds. */
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

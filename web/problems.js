// Messages for problems: what is wrong, and what to do.

const NEWER = "Use Chrome 91, Firefox 114, Safari 16.4 or later.";
const STOP = "Ask this server nothing more, and tell its operator.";

/** Problems by their codes; `origin` is this page's and `server` the server's address. */
const PROBLEMS = {
  insecure: {
    title: "The browser gives this page no cryptography",
    text: ({ origin }) => `The page came over plain http from another machine (${origin}). Open it over https, or on the machine itself as http://localhost.`,
  },
  unsupported: {
    title: "This browser cannot run the search",
    text: () => `It has no WebAssembly with SIMD, or it is switched off. ${NEWER}`,
  },
  start: {
    title: "Part of this page is missing",
    text: () => "The browser could not load one of its files. Look whether the page's server still runs, then load the page again.",
    retry: true,
  },
  table: {
    title: "The word vectors are damaged",
    text: () => "The file came incomplete or changed. Load the page again; if that does not help, build the page again.",
    retry: true,
  },
  long: { title: "The question is too long", text: ({ message }) => message },
  empty: { title: "The question has no words", text: ({ message }) => message },
  dim: { title: "This index is not of these word vectors", text: ({ message }) => message },
  key: {
    title: "The reader's key cannot be used",
    text: () => "Expected the whole content of a file that `sordino keys new reader` wrote. Choose that file under “Server and key”.",
  },
  argument: { title: "A setting cannot be used", text: ({ message }) => `${message}. Correct it under “Server and key”.` },
  untrusted: {
    title: "The server cannot be trusted",
    text: () => `What it gave out is not what the owner of the key signed: another index is served there, an older version, or data were changed. ${STOP}`,
  },
  "bad-reply": {
    title: "The server gave a wrong answer",
    text: () => `Its answer to an encrypted question does not open as an honest one does, so no result is shown. ${STOP}`,
  },
  away: {
    title: "The server does not answer",
    text: ({ server, origin }) =>
      `Look whether the server at ${server} runs, and admits this page (--allow-origin ${origin}). After the computer or the tab slept, try again.`,
    retry: true,
  },
  busy: { title: "The server has too much to do", text: () => "Wait a little, then try again.", retry: true },
  stale: { title: "The index changes too fast", text: () => "It changed during each attempt. Wait a little, then try again.", retry: true },
  refused: {
    title: "The server refuses this client",
    text: ({ message }) => `Its words are: ${message}. Ask its operator for access.`,
  },
};

const OTHER = {
  title: "The search stopped",
  text: () => "This is a fault of the page. Load it again, and report what the program said.",
  retry: true,
};

/** The title, the text, and whether to offer another attempt. `problem` has a code and the program's own message. */
export function told(problem, place) {
  const { title, text, retry = false } = PROBLEMS[problem.code] ?? OTHER;
  return { title, text: text({ ...place, message: problem.message }), retry };
}

/** The message if the browser does not store downloads. */
export const UNKEPT =
  "The browser keeps nothing for this page: its storage is full or forbidden, as in a private window. Searching works, and the next visit downloads everything again.";

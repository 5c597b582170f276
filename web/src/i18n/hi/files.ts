import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";

const plural = pluralsOf("hi");

/** Hindi texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: FileTexts = {
  tooLong: {
    title: "मैसेज बहुत लंबा है",
    text: (used, window) => `इस मैसेज के साथ चैट में ${used} टोकन हो जाएँगे। मॉडल ${window} से कम टोकन पढ़ता है।`,
    farTooLong: (window) => `मॉडल ${window} टोकन पढ़ता है, इस मैसेज के साथ चैट उससे कहीं ज़्यादा लंबी है।`,
    shorten: "इसे छोटा करें, या:",
    shortenAlone: "इसे छोटा करें।",
    remove: (name) => `${name} हटाएँ`,
    leave: (messages) => plural(messages, { one: "पहले मैसेज के बिना भेजें", other: `पहले ${messages} मैसेज के बिना भेजें` }),
    summarize: (messages) => plural(messages, { one: "पहले मैसेज का सार बनाएँ", other: `पहले ${messages} मैसेज का सार बनाएँ` }),
    summarizing: "मॉडल सार लिख रहा है। उसके बाद मैसेज भेजा जाएगा।",
    leaveTitle: "वे चैट में रहेंगे, पर मॉडल उन्हें नहीं देखेगा।",
    move: "नई चैट में पूछें",
  },

  allSeen: "यहाँ से आगे मॉडल फिर से सभी मैसेज देखता है।",
  leftOut: (messages) => plural(messages, { one: "यहाँ से आगे मॉडल पहला मैसेज नहीं देखता।", other: `यहाँ से आगे मॉडल पहले ${messages} मैसेज नहीं देखता।` }),

  summary: "सार",
  summarized: (messages) => plural(messages, { one: "यहाँ से आगे मॉडल पहले मैसेज का सार देखता है।", other: `यहाँ से आगे मॉडल पहले ${messages} मैसेज का सार देखता है।` }),

  overflow: {
    server: "यह मैसेज सर्वर के लिए बहुत बड़ा है, इसलिए यह केवल इसी ब्राउज़र में रहेगा। इसे छोटा करें या कोई फ़ाइल हटाएँ।",
    browser: "यह मैसेज इतना बड़ा है कि भेजने तक रखा नहीं जा सकता। पेज बंद या रीलोड करने पर यह खो जाएगा।",
  },

  notRead: (name) => `${name} नहीं पढ़ी गई।`,

  unreadable: {
    tooBig: (name) => `${name} में 512 KiB से ज़्यादा टेक्स्ट है। सिर्फ़ ज़रूरी हिस्सा जोड़ें।`,
    tooBigPdf: (name) => `${name} 32 MiB से बड़ी है। सिर्फ़ ज़रूरी हिस्सा जोड़ें।`,
    noText: (name) => `${name} टेक्स्ट फ़ाइल, PDF, docx, xlsx, pptx या epub नहीं है। मॉडल सिर्फ़ टेक्स्ट पढ़ता है: दस्तावेज़ हो, तो उसे इनमें से किसी फ़ॉर्मैट में सेव करें।`,
    old: (name) => `${name} पुराने Office फ़ॉर्मैट में है। इसे docx, xlsx या pptx में सेव करके जोड़ें।`,
    empty: (name) => `${name} में कोई टेक्स्ट नहीं है। टेक्स्ट की तस्वीरों पर पहले टेक्स्ट पहचान (OCR) चलाएँ।`,
    tooCostly: (name) => `${name} पढ़ने में बहुत ज़्यादा मेमोरी या समय लगता है। सिर्फ़ ज़रूरी हिस्सा जोड़ें।`,
    scanned: (name) => `${name} में टेक्स्ट नहीं, सिर्फ़ स्कैन किए गए पेज हैं। पहले इस पर टेक्स्ट पहचान (OCR) चलाएँ।`,
    encrypted: (name) => `${name} पासवर्ड से लॉक है। बिना पासवर्ड वाली कॉपी सेव करके जोड़ें।`,
    broken: (name) => `${name} ख़राब है और पढ़ी नहीं जा सकती। इसे फिर से सेव या डाउनलोड करें।`,
    gone: (name) => `${name} नहीं खुल सकी। अगर यह फ़ोल्डर है तो उसकी फ़ाइलें चुनें, नहीं तो इसे फिर से चुनें।`,
  },
};

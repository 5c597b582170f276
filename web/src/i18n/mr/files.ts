import { pluralsOf } from "../plurals";
import type { FileTexts } from "../en/files";
import type { PartialTexts } from "../fallback";

const plural = pluralsOf("mr");

/** Marathi texts for messages and files that are too long or cannot be read: the problem, and the remedy. */
export const texts: PartialTexts<FileTexts> = {
  tooLong: {
    title: "मेसेज खूप मोठा आहे",
    text: (used, window) => `या मेसेजसह चॅटमध्ये ${used} टोकन होतील. मॉडेल ${window} पेक्षा कमी वाचते.`,
    farTooLong: (window) => `मॉडेल ${window} टोकन वाचते, या मेसेजसह चॅट त्यापेक्षा खूपच मोठे आहे.`,
    shorten: "तो लहान करा, किंवा:",
    shortenAlone: "तो लहान करा.",
    remove: (name) => `${name} काढून टाका`,
    leave: (messages) => plural(messages, { one: "पहिल्या मेसेजशिवाय पाठवा", other: `पहिल्या ${messages} मेसेजशिवाय पाठवा` }),
    summarize: (messages) => plural(messages, { one: "पहिल्या मेसेजचा सारांश करा", other: `पहिल्या ${messages} मेसेजचा सारांश करा` }),
    summarizing: "मॉडेल सारांश लिहीत आहे. त्यानंतर मेसेज पाठवला जाईल.",
    leaveTitle: "ते चॅटमध्ये राहतात, पण मॉडेलला ते यापुढे दिसत नाहीत.",
    move: "नवीन चॅटमध्ये विचारा",
  },

  allSeen: "येथून पुढे मॉडेलला पुन्हा सर्व मेसेज दिसतात.",
  leftOut: (messages) => plural(messages, { one: "येथून पुढे मॉडेलला पहिला मेसेज दिसत नाही.", other: `येथून पुढे मॉडेलला पहिले ${messages} मेसेज दिसत नाहीत.` }),

  summary: "सारांश",
  summarized: (messages) => plural(messages, { one: "येथून पुढे मॉडेलला पहिल्या मेसेजचा सारांश दिसतो.", other: `येथून पुढे मॉडेलला पहिल्या ${messages} मेसेजचा सारांश दिसतो.` }),

  overflow: {
    server: "हा मेसेज सर्व्हरसाठी खूप मोठा आहे, त्यामुळे तो फक्त या ब्राउझरमध्ये राहतो. तो लहान करा किंवा एखादी फाइल काढून टाका.",
    browser: "हा मेसेज इतका मोठा आहे की पाठवेपर्यंत ठेवता येत नाही. पेज बंद किंवा रीलोड केल्यास तो नाहीसा होईल.",
  },

  notRead: (name) => `${name} वाचली गेली नाही.`,

  unreadable: {
    tooBig: (name) => `${name} मध्ये 512 KiB पेक्षा जास्त मजकूर आहे. फक्त आवश्यक भाग जोडा.`,
    tooBigPdf: (name) => `${name} 32 MiB पेक्षा मोठी आहे. फक्त आवश्यक भाग जोडा.`,
    noText: (name) => `${name} ही मजकूर फाइल, PDF, docx, xlsx, pptx किंवा epub नाही. मॉडेल फक्त मजकूर वाचते: दस्तऐवज असल्यास यांपैकी एका फॉरमॅटमध्ये सेव्ह करा.`,
    old: (name) => `${name} जुन्या Office फॉरमॅटमध्ये आहे. docx, xlsx किंवा pptx म्हणून सेव्ह करून जोडा.`,
    empty: (name) => `${name} मध्ये मजकूर नाही. मजकुराच्या चित्रांवर आधी मजकूर ओळख (OCR) चालवावी लागते.`,
    tooCostly: (name) => `${name} वाचायला खूप मेमरी किंवा वेळ लागतो. फक्त आवश्यक भाग जोडा.`,
    scanned: (name) => `${name} मध्ये मजकूर नाही, फक्त स्कॅन केलेली पेज आहेत. आधी त्यावर मजकूर ओळख (OCR) चालवा.`,
    encrypted: (name) => `${name} पासवर्डने लॉक केलेली आहे. पासवर्ड नसलेली प्रत सेव्ह करून जोडा.`,
    broken: (name) => `${name} खराब आहे आणि वाचता येत नाही. ती पुन्हा सेव्ह किंवा डाउनलोड करा.`,
    gone: (name) => `${name} उघडता येत नाही. ते फोल्डर असल्यास त्यातील फाइल निवडा, नाहीतर ती पुन्हा निवडा.`,
  },
};
